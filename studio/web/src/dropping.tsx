// Files that are dropped anywhere on the page.
import { signal } from '@preact/signals';
import { FileDown } from 'lucide-preact';
import { sendFiles } from './link';
import * as state from './state';

const isOver = signal(false);

async function droppedFiles(items: DataTransferItemList | undefined, files: FileList): Promise<File[]> {
  const entries = [...(items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter((e): e is FileSystemEntry => !!e);
  if (!entries.some((entry) => entry.isDirectory)) return [...files];
  const result: File[] = [];
  const walk = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.name.startsWith('.')) return; // what file browsers leave in folders
    if (entry.isFile) result.push(await new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (!batch.length) break;
        for (const inner of batch) await walk(inner);
      }
    }
  };
  for (const entry of entries) await walk(entry);
  return result;
}

export function watchDrops() {
  addEventListener('dragover', (event) => {
    event.preventDefault();
    isOver.value = true;
  });
  addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) isOver.value = false;
  });
  addEventListener('drop', async (event) => {
    event.preventDefault();
    isOver.value = false;
    if (!event.dataTransfer) return;
    const files = await droppedFiles(event.dataTransfer.items, event.dataTransfer.files);
    if (!files.length) return;
    state.tell(`Opening ${files.length === 1 ? files[0].name : `${files.length} files`}…`);
    await sendFiles(files);
  });
}

export function DropTarget() {
  if (!isOver.value) return null;
  return <div class="drop" role="status"><p><FileDown size={24} aria-hidden="true" /> Drop a rig, a clip, a take or a scene</p></div>;
}
