// Short messages that leave by themselves; a click removes one at once.
import { CircleCheck, Info, TriangleAlert, X } from 'lucide-preact';
import { IconButton } from './controls';
import * as state from './state';

const ICONS = { note: Info, done: CircleCheck, error: TriangleAlert };

export function Toasts() {
  return (
    <div class="toasts" role="log" aria-live="polite">
      {state.toasts.value.map(({ id, kind, text }) => {
        const Icon = ICONS[kind];
        return (
          <div key={id} class={`toast ${kind}`}>
            <Icon size={16} aria-hidden="true" />
            <span>{text}</span>
            <IconButton label="Remove this message" onClick={() => (state.toasts.value = state.toasts.value.filter((toast) => toast.id !== id))}><X size={14} /></IconButton>
          </div>
        );
      })}
    </div>
  );
}
