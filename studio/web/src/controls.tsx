// The small controls that everything is made of. Each has a tooltip, a reset and a keyboard.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

export const format = (value: number, digits = 2) =>
  Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 10 ** -(digits + 1))
    ? value.toExponential(1).replace('.0', '').replace('e+', 'e')
    : Math.abs(value) < 10 ** -digits
      ? String(Number(value.toPrecision(1))) // small is not 0
      : String(Math.round(value * 10 ** digits) / 10 ** digits);

/** Screen readers do not read 1e-7. */
const plain = (value: number) =>
  value === 0 || Math.abs(value) >= 1e-6 ? value : (value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 20 }) as unknown as number);

export function IconButton(props: {
  label: string;
  onClick: () => void;
  children: ComponentChildren;
  pressed?: boolean;
  disabled?: boolean;
  class?: string;
  testid?: string;
}) {
  return (
    <button
      type="button"
      class={`icon ${props.class ?? ''}`}
      title={props.label}
      aria-label={props.label}
      aria-pressed={props.pressed}
      disabled={props.disabled}
      data-testid={props.testid}
      onClick={props.onClick}
    >
      {props.children}
    </button>
  );
}

/**
 * Buttons of which one is chosen. The group is one stop of the Tab key; arrows go from button to button, and Space or Enter chooses:
 * choosing at every step would build a model that nobody wants.
 */
export function Choices<T extends string>(props: {
  label: string;
  class?: string;
  option?: string;
  value: T;
  options: { value: T; label: ComponentChildren; hint: string }[];
  onChange: (value: T) => void;
}) {
  const { options, value } = props;
  const chosen = Math.max(0, options.findIndex((option) => option.value === value));
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by || event.shiftKey) return;
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=radio]')];
    buttons[(buttons.indexOf(event.target as HTMLElement) + by + buttons.length) % buttons.length].focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class={props.class} role="radiogroup" aria-label={props.label} onKeyDown={onKey}>
      {options.map((option, i) => (
        <button type="button" role="radio" key={option.value} class={props.option} tabIndex={i === chosen ? 0 : -1} aria-checked={option.value === value}
          title={option.hint} data-testid={`${props.label.toLowerCase()}-${option.value}`} onClick={() => props.onChange(option.value)}>{option.label}</button>
      ))}
    </div>
  );
}

interface ScrubProps {
  label: string;
  name?: ComponentChildren;
  value: number;
  rest: number;
  minimum: number;
  maximum: number; // of the track
  hardMinimum?: number; // of typed numbers
  hardMaximum?: number;
  unit?: string;
  hint?: string;
  integer?: boolean;
  logarithmic?: boolean;
  digits?: number;
  selected?: boolean;
  onSelect?: (add: boolean) => void;
  onInput: (value: number, first: boolean) => void;
}

const clamp = (x: number, low: number, high: number) => Math.max(low, Math.min(high, x));

/** A slider row: name, track, number. Double-click resets, Shift-drag is fine, the number is typed. */
export function Scrub(props: ScrubProps) {
  const track = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; value: number; moved: boolean; id: number } | null>(null);
  const pressed = useRef(false);
  const [typing, setTyping] = useState<string | null>(null);
  const { minimum, maximum, value, rest } = props;
  const hardMinimum = props.hardMinimum ?? minimum;
  const hardMaximum = props.hardMaximum ?? maximum;
  const log = props.logarithmic && minimum > 0;
  const toShare = (x: number) =>
    log ? Math.log(clamp(x, minimum, maximum) / minimum) / Math.log(maximum / minimum) : (x - minimum) / (maximum - minimum || 1);
  const toValue = (s: number) => (log ? minimum * (maximum / minimum) ** s : minimum + s * (maximum - minimum));
  const share = clamp(toShare(value), 0, 1);
  const origin = clamp(toShare(rest), 0, 1);
  const tidy = (x: number) => {
    const bounded = clamp(x, hardMinimum, hardMaximum);
    if (props.integer) return Math.round(bounded);
    if (log) return Number(bounded.toPrecision(3));
    const step = 10 ** Math.round(Math.log10((maximum - minimum) / 1000));
    return Number((Math.round(bounded / step) * step).toPrecision(6));
  };
  const changed = Math.abs(value - rest) > 1e-9;
  // Weights of a solve are hardly ever quite 0.
  const isNothing = !log && rest === 0 && Math.abs(value) < 5e-4 * (maximum - minimum);
  const text = typing ?? (isNothing ? '0' : format(value, props.digits ?? (maximum - minimum > 20 ? 1 : 2)));

  const move = (event: PointerEvent, first: boolean) => {
    const width = track.current!.clientWidth;
    const d = drag.current!;
    const delta = ((event.clientX - d.x) / width) * (event.shiftKey ? 0.1 : 1);
    d.x = event.clientX;
    d.value = clamp(d.value + delta, 0, 1);
    props.onInput(tidy(toValue(d.value)), first || pressed.current);
    pressed.current = false;
  };
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    event.preventDefault();
    (event.currentTarget as HTMLElement).focus();
    const rect = track.current!.getBoundingClientRect();
    const at = clamp((event.clientX - rect.left) / rect.width, 0, 1);
    const near = Math.abs(at - share) * rect.width < 10;
    drag.current = { x: event.clientX, value: near || event.shiftKey ? share : at, moved: false, id: event.pointerId };
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    props.onSelect?.(event.ctrlKey || event.metaKey);
    if (!near && !event.shiftKey) props.onInput(tidy(toValue(at)), true);
    else pressed.current = true; // a press changes nothing; the first move starts the gesture
  };
  const onKey = (event: KeyboardEvent) => {
    const step = (event.shiftKey ? 0.1 : 1) * (props.integer ? 1 / (maximum - minimum) : 0.01);
    const steps: { [key: string]: number } = { ArrowRight: step, ArrowUp: step, ArrowLeft: -step, ArrowDown: -step, PageUp: 10 * step, PageDown: -10 * step };
    let next: number | null = null;
    if (event.key in steps) next = tidy(toValue(clamp(share + steps[event.key], 0, 1)));
    else if (event.key === 'Home') next = minimum;
    else if (event.key === 'End') next = maximum;
    else if (event.key === 'Delete' || event.key === 'Backspace') next = rest;
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    props.onInput(next, true);
  };
  const commit = (raw: string) => {
    setTyping(null);
    const number = Number(raw.replace(',', '.'));
    if (raw.trim() !== '' && Number.isFinite(number) && Math.abs(number - value) > 1e-9) props.onInput(tidyTyped(number), true);
  };
  const tidyTyped = (x: number) => (props.integer ? Math.round(clamp(x, hardMinimum, hardMaximum)) : clamp(x, hardMinimum, hardMaximum));
  const range = `${format(minimum)} to ${format(maximum)}${props.unit ? ` ${props.unit}` : ''}`;
  const title = `${props.label}\n${props.hint ? props.hint + '\n' : ''}Range ${range}. Double-click to reset to ${format(rest)}; Shift-drag for fine control.`;
  return (
    <div class={`row ${changed ? 'on' : ''} ${props.selected ? 'selected' : ''}`} title={title}>
      <span class="name" onClick={(event) => props.onSelect?.(event.ctrlKey || event.metaKey)}>
        {props.name ?? props.label}{props.unit && props.unit.length <= 3 && <small> {props.unit}</small>}
      </span>
      <div
        class="track"
        ref={track}
        role="slider"
        tabIndex={0}
        aria-label={props.label}
        aria-valuemin={plain(minimum)}
        aria-valuemax={plain(maximum)}
        aria-valuenow={plain(value)}
        data-testid={`slider-${props.label}`}
        onPointerDown={onPointerDown}
        onPointerMove={(event) => drag.current && move(event, false)}
        onPointerUp={() => (drag.current = null)}
        onPointerCancel={() => (drag.current = null)}
        onDblClick={() => value !== rest && props.onInput(rest, true)}
        onKeyDown={onKey}
      >
        <i style={{ left: `${100 * Math.min(origin, share)}%`, width: `${100 * Math.abs(share - origin)}%` }} />
        <b style={{ left: `${100 * share}%` }} class={value > maximum + 1e-9 || value < minimum - 1e-9 ? 'over' : ''} />
      </div>
      <input
        class="number"
        aria-label={`${props.label} value`}
        data-testid={`number-${props.label}`}
        value={text}
        size={5}
        onFocus={(event) => {
          // All digits, selected, before the next key can arrive.
          const field = event.currentTarget;
          field.value = String(Number(value.toPrecision(6)));
          field.select();
          setTyping(field.value);
          requestAnimationFrame(() => document.activeElement === field && field.value === String(Number(value.toPrecision(6))) && field.select());
        }}
        onInput={(event) => setTyping(event.currentTarget.value)}
        onBlur={(event) => commit(event.currentTarget.value)}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === 'Enter') event.currentTarget.blur();
          if (event.key === 'Escape') {
            setTyping(null);
            event.currentTarget.value = text;
            event.currentTarget.blur();
          }
        }}
      />
    </div>
  );
}

export function Section(props: { title: string; actions?: ComponentChildren; children: ComponentChildren }) {
  const [open, setOpen] = useState(true);
  return (
    <section class="section">
      <div class="head">
        <button type="button" aria-expanded={open} title={`${open ? 'Hide' : 'Show'} this section`} onClick={() => setOpen(!open)}>
          <h2>{props.title}</h2>
        </button>
        <span class="actions">{props.actions}</span>
      </div>
      {open && props.children}
    </section>
  );
}
