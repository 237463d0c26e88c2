// The frame of every dialog.
import { X } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { IconButton } from './controls';
import * as state from './state';

export const close = () => (state.dialog.value = null);

export function Dialog(props: { title: string; children: ComponentChildren; wide?: boolean }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = ref.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog ref={ref} class={props.wide ? 'wide' : ''} aria-label={props.title} onCancel={close} onClick={(event) => event.target === ref.current && close()}>
      <header>
        <h1>{props.title}</h1>
        <IconButton label="Close (Esc)" onClick={close}><X size={16} /></IconButton>
      </header>
      {props.children}
    </dialog>
  );
}
