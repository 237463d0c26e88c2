// The left panel: sliders by group, symmetric pairs as one row, search, reset.
import { computed, signal, useComputed } from '@preact/signals';
import { FlipHorizontal2, RotateCcw, Search } from 'lucide-preact';
import { useEffect } from 'preact/hooks';
import { IconButton, Scrub, Section } from './controls';
import { newGesture, setMembers, setWeights } from './link';
import { example, member, rig, selectedSliders, showsClip, weightOf, type Slider } from './state';

const query = signal('');
const paired = signal(true);
const overdrive = signal(false);
let gesture = '';

interface Row {
  label: string;
  sliders: Slider[];
  /** jawLeft and jawRight are two ends of one motion, not two sides of the face. */
  ends?: boolean;
}

const ENDS = /^(jaw|mouth|tongue|head|chin)(Left|Right)$/i;

/** The name without its side: mouthSmileLeft, smile_L and L_smile are all "…smile". */
const withoutSide = (name: string) =>
  name.replace(/(Left|Right)(?=[A-Z_. -]|$)/, '').replace(/[_. -]([LRlr]|left|right)$/, '').replace(/^([LRlr]|left|right)[_. -]/, '') || name;

const groups = computed(() => {
  const sliders = rig.value?.sliders ?? [];
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const result = new Map<string, Row[]>();
  const done = new Set<number>();
  sliders.forEach((slider, i) => {
    if (done.has(i)) return;
    const other = paired.value && slider.mirror >= 0 && slider.mirror !== i ? sliders[slider.mirror] : null;
    if (other) done.add(slider.mirror);
    const ends = !!other && ENDS.test(slider.name);
    const label = ends ? `${slider.name} · ${other.name.replace(/^[a-z]+/, '')}` : other ? `${withoutSide(slider.name)} L·R` : slider.name;
    const row: Row = { label, sliders: other ? [slider, other] : [slider], ends };
    const text = `${row.label} ${row.sliders.map((s) => s.name).join(' ')} ${slider.group ?? ''}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) return;
    const group = slider.group ?? 'shapes';
    result.set(group, [...(result.get(group) ?? []), row]);
  });
  return result;
});

function EndsRow({ row }: { row: Row }) {
  const [left, right] = row.sliders.map((s) => s.name);
  const value = weightOf(right).value - weightOf(left).value;
  return (
    <Scrub label={row.label} value={value} rest={0} minimum={overdrive.value ? -2 : -1} maximum={overdrive.value ? 2 : 1} hardMinimum={-2} hardMaximum={2}
      hint={`Left of the middle: ${left}; right of it: ${right}`}
      selected={selectedSliders.value.includes(left)}
      onSelect={() => (selectedSliders.value = [left, right])}
      onInput={(next, first) => {
        if (first) gesture = newGesture('slider');
        setWeights({ [left]: Math.max(0, -next), [right]: Math.max(0, next) }, `${row.label} ${next.toFixed(2)}`, gesture);
      }} />
  );
}

function SliderRow({ row }: { row: Row }) {
  const slider = row.sliders[0];
  const names = row.sliders.map((s) => s.name);
  const value = row.sliders.reduce((sum, s) => sum + weightOf(s.name).value, 0) / row.sliders.length;
  const low = slider.minimum ?? 0, high = slider.maximum ?? 1;
  const wide = overdrive.value;
  return (
    <Scrub
      label={row.sliders.length > 1 ? row.label : slider.name}
      value={value}
      rest={slider.rest}
      minimum={wide ? Math.min(low, -1) : low}
      maximum={wide ? Math.max(high, 2) : high}
      hardMinimum={Math.min(low, -1)}
      hardMaximum={Math.max(high, 2)}
      hint={wide ? 'Overdrive is on' : undefined}
      selected={names.some((n) => selectedSliders.value.includes(n))}
      onSelect={(add) => {
        selectedSliders.value = add ? [...new Set([...selectedSliders.value, ...names])].slice(-8) : names;
      }}
      onInput={(next, first) => {
        if (first) gesture = newGesture('slider');
        setWeights(Object.fromEntries(names.map((n) => [n, next])), `${row.label} ${next.toFixed(2)}`, gesture);
      }}
    />
  );
}

function resetAll(names: string[] | null, label: string) {
  if (!names || showsClip.value) {
    const rest = Object.fromEntries((rig.value?.sliders ?? []).map((s) => [s.name, s.rest]));
    const kept = names ? Object.fromEntries(names.map((n) => [n, rest[n]])) : rest;
    setWeights(kept, label);
  } else setMembers('weights', Object.fromEntries(names.map((n) => [n, undefined])), label);
}

const isMoved = computed(() => Object.values(member.weights.value ?? {}).some((w) => w !== 0));

function ResetGroup({ group, rows }: { group: string; rows: Row[] }) {
  const sliders = rows.flatMap((row) => row.sliders);
  const on = useComputed(() => sliders.some((s) => weightOf(s.name).value !== s.rest));
  if (!on.value) return null;
  return <button type="button" class="link" title={`Set the sliders of ${group} to rest`} onClick={() => resetAll(sliders.map((s) => s.name), `Reset ${group}`)}>reset</button>;
}

/** An example names the slider to drag, and the matrix selects two: they are brought into view, unless they are there. */
function useNamedSlider() {
  const ofExample = useComputed(() => rig.value?.sliders.find((slider) => example.value?.hint.split(/\W+/).includes(slider.name))?.name);
  const show = (name: string | undefined) => {
    const row = [...groups.peek().values()].flat().find(({ sliders }) => sliders.some((slider) => slider.name === name));
    if (row) document.querySelector(`[data-testid="slider-${CSS.escape(row.label)}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  useEffect(() => show(ofExample.value), [ofExample.value]);
  useEffect(() => show(selectedSliders.value[0]), [selectedSliders.value]);
}

export function Sliders() {
  useNamedSlider();
  const count = rig.value?.sliders.length ?? 0;
  return (
    <aside class="left" aria-label="Sliders">
      <div class="search">
        <Search size={14} aria-hidden="true" />
        <input
          id="slider-search"
          type="search"
          title="Show only the sliders whose names contain these words (/)"
          placeholder={`Search ${count} sliders`}
          aria-label="Search sliders"
          value={query.value}
          onInput={(event) => (query.value = event.currentTarget.value)}
        />
        <IconButton label={paired.value ? 'Symmetric pairs move together' : 'Left and right move independently'} pressed={paired.value} onClick={() => (paired.value = !paired.value)} testid="pairs">
          <FlipHorizontal2 size={15} />
        </IconButton>
        <IconButton label="Overdrive: extend the range of sliders to -1 … 2" pressed={overdrive.value} onClick={() => (overdrive.value = !overdrive.value)}>
          <span class="glyph">×2</span>
        </IconButton>
        <IconButton label="Reset all sliders" disabled={!isMoved.value && !showsClip.value} onClick={() => resetAll(null, 'Reset all sliders')} testid="reset-all">
          <RotateCcw size={15} />
        </IconButton>
      </div>
      <div class="scroll">
        {[...groups.value].map(([group, rows]) => (
          <Section
            key={group}
            title={group}
            actions={<ResetGroup group={group} rows={rows} />}
          >
            {rows.map((row) => (row.ends ? <EndsRow key={row.label} row={row} /> : <SliderRow key={row.label} row={row} />))}
          </Section>
        ))}
        {rig.value && groups.value.size === 0 && (
          <p class="empty">{rig.value.sliders.length ? `No slider matches “${query.value}”.` : 'This file has no blend shapes and no clips, so there is no slider. Drop a neutral shape and its poses as OBJ files, or another rig.'}</p>
        )}
      </div>
    </aside>
  );
}
