// The right panel: parameters of the model, obstacles, locks, overlay, history.
import { Box, Boxes, Circle, Cylinder, Eye, EyeOff, Grid3x3, Pill, Square, Trash2, Undo2, Redo2, Move3d, Rotate3d } from 'lucide-preact';
import { useRef } from 'preact/hooks';
import { Choices, format, IconButton, Scrub, Section } from './controls';
import { newGesture, patch, redo, send, sendFiles, setMembers, undo } from './link';
import { moveObstacle, newObstacle } from './obstacle_edits';
import type { Operation } from './patch';
import * as state from './state';

let gesture = '';
const title = (name: string) => name.replace(/_/g, ' ').replace(/^./, (c) => c.toUpperCase());

// ---- parameters --------------------------------------------------------------------------------

/** Tracks need ends; limits of the table are often far wider than what anybody uses. */
function trackRange(p: state.Parameter): { minimum: number; maximum: number; logarithmic: boolean } {
  const low = p.minimum ?? 0, high = p.maximum ?? 0;
  const limited = p.minimum !== undefined;
  if (limited && high - low <= 1000 && low >= 0 && !(low > 0 && high / low > 1000)) return { minimum: low, maximum: high, logarithmic: false };
  if (p.kind === 'integer') return { minimum: Math.max(low, 0), maximum: Math.max(10, Math.min(high || 1000, 4 * p.fallback)), logarithmic: false };
  if (p.fallback > 0 && (limited ? low >= 0 : true)) {
    const from = Math.max(low, p.fallback / 1000), to = Math.min(limited ? high : Infinity, p.fallback * 1000);
    return { minimum: from, maximum: to, logarithmic: true };
  }
  return { minimum: limited ? Math.max(low, -1) : -1, maximum: limited ? Math.min(high, 1) : 1, logarithmic: false };
}

function ParameterRow({ parameter: p }: { parameter: state.Parameter }) {
  const given = state.member.parameters.value?.[p.name];
  const hint = `${p.help}${p.unit ? ` (${p.unit})` : ''}${p.kind === 'flag' ? `\nOn or off; default ${p.fallback === 1 ? 'on' : 'off'}` : ''}${p.kind === 'choice' ? `\nOne of ${(p.choices ?? '').split('|').join(', ')}; default ${(p.choices ?? '').split('|')[p.fallback]}` : ''}\nDouble-click the name to reset.`;
  const set = (value: never | number | boolean | string | undefined, label: string) =>
    setMembers('parameters', { [p.name]: value as never }, label, gesture);
  const name = (
    <span class="name" onDblClick={() => {
      gesture = newGesture('parameter');
      if (given !== undefined) set(undefined, `Reset ${title(p.name)}`);
    }}>{title(p.name)}</span>
  );
  if (p.kind === 'flag') {
    const on = given === undefined ? p.fallback === 1 : given === true;
    return (
      <label class={`row check ${given !== undefined ? 'on' : ''}`} title={hint}>
        {name}
        <input type="checkbox" checked={on} data-testid={`parameter-${p.name}`} onChange={(event) => {
          gesture = newGesture('parameter');
          set(event.currentTarget.checked, `${title(p.name)} ${event.currentTarget.checked ? 'on' : 'off'}`);
        }} />
      </label>
    );
  }
  if (p.kind === 'choice') {
    const choices = (p.choices ?? '').split('|');
    return (
      <label class={`row choice ${given !== undefined ? 'on' : ''}`} title={hint}>
        {name}
        <select value={(given as string) ?? choices[p.fallback]} data-testid={`parameter-${p.name}`} onChange={(event) => {
          gesture = newGesture('parameter');
          set(event.currentTarget.value, `${title(p.name)}: ${event.currentTarget.value}`);
        }}>
          {choices.map((choice) => <option key={choice}>{choice}</option>)}
        </select>
      </label>
    );
  }
  if (p.kind === 'number' || p.kind === 'integer') {
    const range = trackRange(p);
    const value = typeof given === 'number' ? given : p.fallback;
    return (
      <Scrub
        label={title(p.name)}
        value={value}
        rest={p.fallback}
        {...range}
        hardMinimum={p.minimum ?? -1e12}
        hardMaximum={p.maximum ?? 1e12}
        integer={p.kind === 'integer'}
        unit={p.unit}
        hint={p.help}
        onInput={(next, first) => {
          if (first) gesture = newGesture('parameter');
          set(next === p.fallback ? undefined : next, `${title(p.name)} ${format(next, 3)}`);
        }}
      />
    );
  }
  if (p.kind === 'numbers') {
    const text = Array.isArray(given) ? given.join(', ') : '';
    return (
      <label class={`row choice ${given !== undefined ? 'on' : ''}`} title={`${hint}\nA list of numbers, separated by commas.`}>
        {name}
        <input class="list" value={text} placeholder="default" data-testid={`parameter-${p.name}`} onKeyDown={(event) => event.stopPropagation()} onChange={(event) => {
          const list = event.currentTarget.value.split(/[\s,;]+/).filter(Boolean).map(Number);
          if (list.some((x) => !Number.isFinite(x))) return state.tell('Enter a list of numbers, separated by commas', 'error');
          gesture = newGesture('parameter');
          setMembers('parameters', { [p.name]: list.length ? (list as never) : undefined }, title(p.name), gesture);
        }} />
      </label>
    );
  }
  return null;
}

/** What an artist reaches for, in this order; the rest is folded away. */
const FIRST = [
  'self_contact', 'contact', 'layer', 'method', 'damping', 'frequency', 'swings', 'stiffness', 'stiffness_structure', 'stiffness_bending', 'stiffness_internal', 'stretch', 'bend',
  'volume', 'pull_to_blend', 'friction', 'gravity', 'smooth', 'symmetry', 'flesh', 'stick', 'retarget', 'modes', 'mass',
];

function Parameters() {
  const model = state.model.value;
  if (!model) return null;
  const shown = model.parameters.filter((p) => !['text', 'file'].includes(p.kind));
  const rank = (p: state.Parameter) => FIRST.indexOf(p.name);
  const few = shown.length <= 8;
  const common = shown.filter((p) => few || (rank(p) >= 0 && p.kind !== 'numbers')).sort((a, b) => rank(a) - rank(b));
  const rare = shown.filter((p) => !common.includes(p));
  const changed = Object.keys(state.member.parameters.value ?? {}).length > 0;
  return (
    <Section
      title={title(model.name)}
      actions={changed && (
        <button type="button" class="link" title="Set all parameters to their defaults" onClick={() => { patch([{ op: 'remove', path: '/parameters' }], 'Reset parameters'); }}>reset</button>
      )}
    >
      <p class="note">{model.summary.replace(/^./, (c) => c.toUpperCase())}.</p>
      {common.map((p) => <ParameterRow key={p.name} parameter={p} />)}
      {rare.length > 0 && (
        <details class="more">
          <summary title="Parameters that are rarely changed">{rare.length} more parameters</summary>
          {rare.map((p) => <ParameterRow key={p.name} parameter={p} />)}
        </details>
      )}
    </Section>
  );
}

// ---- obstacles ---------------------------------------------------------------------------------

const SHAPES = [
  { shape: 'sphere', icon: Circle, label: 'Add a ball' },
  { shape: 'capsule', icon: Pill, label: 'Add a capsule' },
  { shape: 'cylinder', icon: Cylinder, label: 'Add a rod' },
  { shape: 'box', icon: Box, label: 'Add a box' },
  { shape: 'plane', icon: Square, label: 'Add a plane' },
] as const;

const placeOf = (obstacle: state.Obstacle) =>
  obstacle.center ?? obstacle.point ?? obstacle.motion?.[0].move ??
  (obstacle.from && obstacle.to ? obstacle.from.map((x, k) => (x + obstacle.to![k]) / 2) : obstacle.shape === 'mesh' ? [0, 0, 0] : undefined);

/** Position, radius, length and size of the selected obstacle, as numbers. */
function ObstacleRows({ obstacle, set }: { obstacle: state.Obstacle; set: (next: state.Obstacle, label: string, first: boolean) => void }) {
  const { name: unit, scale } = state.lengthUnit.value;
  const diagonal = state.rig.value!.diagonal, name = obstacle.name ?? obstacle.shape;
  const row = (label: string, value: number, rest: number, low: number, high: number, change: (next: number) => state.Obstacle) => (
    <Scrub key={label} label={label} value={value * scale} rest={rest * scale} minimum={low * scale} maximum={high * scale} hardMinimum={low < 0 ? -1e6 : 1e-5 * scale} hardMaximum={1e6} unit={unit} digits={scale === 1 ? 3 : 1}
      onInput={(next, first) => set(change(next / scale), `${name}: ${label.toLowerCase()} ${format(next, 1)} ${unit}`, first)} />
  );
  const place = placeOf(obstacle) ?? [0, 0, 0];
  const center = obstacle.shape === 'mesh' ? [0, 0, 0] : state.center.value;
  const { from, to, half, radius } = obstacle;
  const length = from && to ? Math.hypot(...to.map((x, k) => x - from[k])) : 0;
  return (
    <>
      {place.map((x, k) => row(`Position ${'xyz'[k]}`, x, center[k], center[k] - diagonal, center[k] + diagonal, (next) => moveObstacle(obstacle, place.map((old, i) => (i === k ? next : old)))))}
      {radius !== undefined && row('Radius', radius, diagonal * 0.08, 0, Math.ceil(diagonal * 300) / 1000, (next) => ({ ...obstacle, radius: Math.max(next, 1e-5) }))}
      {from && to && length > 0 && row('Length', length, diagonal * 0.32, 0, diagonal, (next) => {
        const stretch = (end: number[]) => end.map((x, k) => place[k] + ((x - place[k]) * Math.max(next, 1e-5)) / length);
        return { ...obstacle, from: stretch(from), to: stretch(to) };
      })}
      {half?.map((h, k) => row(`Size ${'xyz'[k]}`, 2 * h, diagonal * 0.16, 0, diagonal, (next) => ({ ...obstacle, half: half.map((old, i) => (i === k ? Math.max(next, 1e-5) / 2 : old)) })))}
    </>
  );
}

function Obstacles() {
  const list = state.member.obstacles.value ?? [];
  const selected = state.selectedObstacle.value;
  const add = (shape: state.Obstacle['shape']) => {
    const rig = state.rig.value;
    if (!rig) return;
    const ops: Operation[] = [];
    if (!state.member.obstacles.value) ops.push({ op: 'add', path: '/obstacles', value: [] });
    ops.push({ op: 'add', path: '/obstacles/-', value: newObstacle(shape, rig.neutral, rig.diagonal) as never });
    state.selectedObstacle.value = list.length;
    patch(ops, `Add ${shape}`);
    if (!['spring', 'modal', 'force'].includes(state.modelName.value))
      state.tell(`The ${state.modelName.value} model ignores obstacles; choose Spring to see it yield`);
  };
  const replace = (index: number, value: state.Obstacle, label: string) =>
    patch([{ op: 'replace', path: `/obstacles/${index}`, value: value as never }], label, { gesture });
  const file = useRef<HTMLInputElement>(null);
  return (
    <Section title="Obstacles" actions={<>
      {SHAPES.map(({ shape, icon: Icon, label }) => (
        <IconButton key={shape} label={label} testid={`add-${shape}`} onClick={() => add(shape)}><Icon size={14} /></IconButton>
      ))}
      <IconButton label="Add a mesh from a file (OBJ, GLB, FBX, PLY, STL)" testid="add-mesh" onClick={() => file.current!.click()}><Boxes size={14} /></IconButton>
      <input type="file" ref={file} hidden multiple accept=".obj,.glb,.gltf,.fbx,.ply,.off,.stl" data-testid="mesh-file" onChange={(event) => {
        const files = [...(event.currentTarget.files ?? [])];
        event.currentTarget.value = '';
        if (files.length) void sendFiles(files, 'obstacle');
      }} />
    </>}>
      {list.length === 0 && <p class="note">Add a ball or a rod, then move it with its arrows and watch the shape yield.</p>}
      {list.map((obstacle, i) => (
        <div key={i} class={`card ${i === selected ? 'selected' : ''}`} onClick={() => (state.selectedObstacle.value = i)}>
          <div class="cardhead">
            <button type="button" class="link strong" title="Select the obstacle: its arrows and numbers move it" onClick={() => (state.selectedObstacle.value = i)}>{obstacle.name ?? obstacle.shape}</button>
            <span class="actions">
              {i === selected && !['sphere', 'box', 'mesh'].includes(obstacle.shape) && (
                <IconButton label={state.gizmoMode.value === 'translate' ? 'Rotate instead of move' : 'Move instead of rotate'} onClick={() => {
                  state.gizmoMode.value = state.gizmoMode.value === 'translate' ? 'rotate' : 'translate';
                }}>{state.gizmoMode.value === 'translate' ? <Rotate3d size={14} /> : <Move3d size={14} />}</IconButton>
              )}
              <IconButton label={obstacle.enabled === false ? 'Enable' : 'Disable'} onClick={() => replace(i, { ...obstacle, enabled: obstacle.enabled === false }, `Switch ${obstacle.name ?? obstacle.shape}`)}>
                {obstacle.enabled === false ? <EyeOff size={14} /> : <Eye size={14} />}
              </IconButton>
              <IconButton label="Remove" testid={`remove-obstacle-${i}`} onClick={() => {
                state.selectedObstacle.value = -1;
                patch([{ op: 'remove', path: `/obstacles/${i}` }], `Remove ${obstacle.name ?? obstacle.shape}`);
              }}><Trash2 size={14} /></IconButton>
            </span>
          </div>
          {i === selected
            ? <ObstacleRows obstacle={obstacle} set={(next, label, first) => {
                if (first) gesture = newGesture('obstacle');
                replace(i, next, label);
              }} />
            : <p class="figures">at {(placeOf(obstacle) ?? []).map((x) => format(x * state.lengthUnit.value.scale, 1)).join(', ')} {state.lengthUnit.value.name}</p>}
        </div>
      ))}
    </Section>
  );
}

// ---- locks -------------------------------------------------------------------------------------

/** As a multiple of the default, which depends on the locks. A scene may also have the number itself. */
function LockStrength() {
  const { alpha, strength } = (state.member.attenuation.value ?? {}) as { alpha?: number; strength?: number };
  const isAbsolute = alpha !== undefined && strength === undefined;
  return (
    <Scrub label="Strength α" value={isAbsolute ? alpha : (strength ?? 1)} rest={1} minimum={0.01} maximum={100} hardMinimum={0} hardMaximum={1e9} logarithmic
      hint={`How strongly the locks hold against the rest of the edit${isAbsolute ? '' : ', as a multiple of the default'}; 0 lets everything move`}
      onInput={(next, first) => {
        if (first) gesture = newGesture('strength');
        setMembers('attenuation', { alpha: undefined, strength: next === 1 ? undefined : next }, `Lock strength ${format(next)}`, gesture);
      }} />
  );
}

function Locks() {
  const locks = state.member.locks.value ?? [];
  const regions = state.rig.value?.regions ?? [];
  const free = regions.filter((region) => !locks.some((lock) => lock.select === `region:${region.name}`));
  if (!state.rig.value) return null;
  return (
    <Section title="Locks" actions={
      <IconButton label="Which sliders disturb which" testid="interference" onClick={() => { state.dialog.value = 'interference'; if (!state.interference.value) send({ type: 'interference' }); }}><Grid3x3 size={14} /></IconButton>
    }>
      <p class="note">{regions.length ? 'Lock a region, or paint one with the Lock tool' : 'Paint what must not move with the Lock tool'}; other sliders adjust to keep it still. {locks.length > 0
        ? <button type="button" class="link strong underline" data-testid="show-motion" title="Heat map of the motion from rest" onClick={() => (state.overlay.value = state.overlay.value === 'motion' ? 'none' : 'motion')}>{state.overlay.value === 'motion' ? 'Hide what still moves' : 'Show what still moves'}</button>
        : 'Locked vertices are blue.'}</p>
      {state.tool.value === 'lock' && state.selectedLock.value >= 0 && (
        <p class="note"><button type="button" class="link strong underline" data-testid="new-lock" title="The next stroke starts another lock" onClick={() => (state.selectedLock.value = -1)}>Paint a new lock</button></p>
      )}
      {state.tool.value === 'lock' && (
        <Scrub label="Brush" value={state.brush.value * 100} rest={4} minimum={0.5} maximum={20} unit="% of the diagonal" hint="Radius of the lock brush" onInput={(next) => (state.brush.value = next / 100)} />
      )}
      {locks.map((lock, i) => (
        <div class={`card lock ${i === state.selectedLock.value ? 'selected' : ''}`} key={i} onClick={() => (state.selectedLock.value = i)}>
          <input class="lockname" value={lock.name ?? lock.select} aria-label={`Name of lock ${i + 1}`} title={`Name of the lock${lock.select.startsWith('v:') ? '; the Lock tool paints the selected one' : ''}`} data-testid={`lock-name-${i}`}
            onKeyDown={(event) => {
              event.stopPropagation();
              if (event.key === 'Enter') event.currentTarget.blur();
            }}
            onChange={(event) => {
              const name = event.currentTarget.value.trim();
              if (name && name !== lock.name) patch([{ op: 'replace', path: `/locks/${i}`, value: { ...lock, name } as never }], `Rename lock ${lock.name ?? ''} to ${name}`);
              else event.currentTarget.value = lock.name ?? lock.select;
            }} />
          <span class="actions">
            {['x', 'y', 'z'].map((axis) => {
              const axes = lock.axes ?? 'xyz', isHeld = axes.includes(axis);
              const next = ['x', 'y', 'z'].filter((a) => (a === axis ? !isHeld : axes.includes(a))).join('');
              return (
                <button type="button" key={axis} class="axis" aria-pressed={isHeld} disabled={isHeld && axes.length === 1} data-testid={`lock-${i}-${axis}`}
                  title={`${isHeld ? 'Let the vertices move' : 'Hold the vertices'} along ${axis}`}
                  onClick={() => patch([{ op: 'replace', path: `/locks/${i}`, value: { ...lock, axes: next } as never }], `Lock ${lock.name ?? ''} on ${next}`)}>{axis}</button>
              );
            })}
            <IconButton label={lock.enabled === false ? 'Enable the lock' : 'Disable the lock'} pressed={lock.enabled !== false} testid={`lock-${i}`} onClick={() =>
              patch([{ op: 'replace', path: `/locks/${i}`, value: { ...lock, enabled: lock.enabled === false } as never }], `Lock ${lock.name ?? ''} ${lock.enabled === false ? 'on' : 'off'}`)}>
              {lock.enabled === false ? <EyeOff size={14} /> : <Eye size={14} />}
            </IconButton>
            <IconButton label="Remove the lock" onClick={() => { state.selectedLock.value = -1; patch([{ op: 'remove', path: `/locks/${i}` }], `Remove lock ${lock.name ?? ''}`); }}><Trash2 size={14} /></IconButton>
          </span>
        </div>
      ))}
      {locks.length > 0 && <LockStrength />}
      {free.length > 0 && (
        <label class="row choice" title="Keep a region of the rig still while sliders move">
          <span class="name">Lock a region</span>
          <select value="" data-testid="add-lock" onChange={(event) => {
            const name = event.currentTarget.value;
            event.currentTarget.value = '';
            if (!name) return;
            const ops: Operation[] = state.member.locks.value ? [] : [{ op: 'add', path: '/locks', value: [] }];
            patch([...ops, { op: 'add', path: '/locks/-', value: { name, select: `region:${name}` } }], `Lock ${name}`);
          }}>
            <option value="">choose…</option>
            {free.map((region) => <option key={region.name} value={region.name}>{region.name}</option>)}
          </select>
        </label>
      )}
    </Section>
  );
}

// ---- pins, overlay, history --------------------------------------------------------------------

function Pins() {
  const all = state.member.pulls.value ?? [], pulls = all.slice(0, all.length - state.pullsOfHand.value);
  if (!pulls.length) return null;
  return (
    <Section title="Pins" actions={<button type="button" class="link" title="Let go of all pinned points" onClick={() => { patch([{ op: 'remove', path: '/pulls' }], 'Remove all pins'); }}>remove all</button>}>
      {pulls.map((pull, i) => (
        <div class="card lock" key={i}>
          <span class="grow">vertex {pull.vertex}</span>
          <IconButton label="Remove the pin" onClick={() => patch([{ op: 'remove', path: `/pulls/${i}` }], `Remove pin ${pull.vertex}`)}><Trash2 size={14} /></IconButton>
        </div>
      ))}
    </Section>
  );
}

function Overlays() {
  const options: { value: state.Overlay; label: string; hint: string }[] = [
    { value: 'none', label: 'None', hint: 'Skin (H: next overlay)' },
    { value: 'difference', label: `vs ${state.leftInText.value}`, hint: 'Distance from the shape in the left view: the linear blend, or another solve' },
    { value: 'stretch', label: 'Stretch', hint: 'Largest relative length change of the edges at a vertex' },
    { value: 'motion', label: 'Motion', hint: 'How far each vertex has moved from rest' },
  ];
  return (
    <Section title="Overlay">
      <div class="chips">
        <Choices class="chips" option="chip" label="Overlay" value={state.overlay.value} options={options} onChange={(mode) => (state.overlay.value = mode)} />
        <button type="button" class="chip" aria-pressed={state.wireframe.value} title="Edges of the polygons (W)" onClick={() => (state.wireframe.value = !state.wireframe.value)}>Wireframe</button>
      </div>
    </Section>
  );
}

function History() {
  const { undo: past, redo: future } = state.history.value;
  return (
    <Section title="History" actions={<>
      <IconButton label="Undo (Ctrl+Z)" disabled={!past.length} onClick={undo}><Undo2 size={14} /></IconButton>
      <IconButton label="Redo (Ctrl+Shift+Z)" disabled={!future.length} onClick={redo}><Redo2 size={14} /></IconButton>
    </>}>
      {past.length === 0 && future.length === 0 && <p class="note">Every change can be undone; the history survives a restart.</p>}
      <ol class="history" data-testid="history">
        {future.slice(0, 3).reverse().map((label, i) => <li key={`f${i}`} class="future">{label}</li>)}
        {past.slice(0, 12).map((label, i) => <li key={i}>{label}</li>)}
      </ol>
    </Section>
  );
}

export function Side() {
  return (
    <aside class="right" aria-label="Model, obstacles and history">
      <div class="scroll">
        <Parameters />
        <Obstacles />
        <Pins />
        <Locks />
        <Overlays />
        <History />
      </div>
    </aside>
  );
}
