/* Units of length by name. */
#ifndef SN_BASE_UNIT_H
#define SN_BASE_UNIT_H

/* Meters per unit of length ("m", "dm", "cm", "mm", "in" or "ft"); 0 for any other name. */
double sn_unit_metres(const char *unit);
/* The unit nearest to a length in meters, within a factor of 1.5; NULL if there is none. */
const char *sn_unit_near(double metres);

#endif
