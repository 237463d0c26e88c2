// The tools of the view.
import { Anchor, Grab, Lock, Rotate3d, SlidersHorizontal } from 'lucide-preact';
import * as state from './state';

export const TOOLS: { value: state.Tool; label: string; hint: string; icon: typeof Grab }[] = [
  { value: 'orbit', label: 'Orbit', hint: 'Rotate the view (O)', icon: Rotate3d },
  { value: 'pull', label: 'Pull', hint: 'Pull a point; it springs back when you let go (P)', icon: Grab },
  { value: 'pose', label: 'Pose', hint: 'Drag a point and let the sliders follow (S)', icon: SlidersHorizontal },
  { value: 'pin', label: 'Pin', hint: 'Pull a point and keep it there (N)', icon: Anchor },
  { value: 'lock', label: 'Lock', hint: 'Paint vertices that stay still while sliders move; hold Alt to erase (L)', icon: Lock },
];

export function chooseTool(tool: state.Tool) {
  state.tool.value = tool;
  const follows = ['linear', 'rotation'].includes(state.modelName.value);
  if ((tool === 'pull' || tool === 'pin') && follows)
    state.tell(`The ${state.modelName.value} model does not respond to pulling; use Pose, or choose Spring`);
}
