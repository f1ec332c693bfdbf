import { ApiError, callOnce } from './api.js';

const RETRY_MS = 2_000;
/** Least milliseconds between two loads of the document, so that a file that stays missing causes no busy loop. */
const RELOAD_MS = 10_000;

/**
 * Loads the file of a page. When it does not come, the panel is away or has another version, whose files have other names: waits until the
 * panel answers, and loads the document anew, at the same address.
 */
export async function loadPage<File>(load: () => Promise<File>): Promise<File> {
  try {
    return await load();
  } catch {
    while (await isAway()) await pause(RETRY_MS);
    await pause(RELOAD_MS - performance.now());
    location.reload();
    return new Promise(() => undefined);
  }
}

async function isAway(): Promise<boolean> {
  try {
    await callOnce('GET', '/me');
    return false;
  } catch (error) {
    return error instanceof ApiError && error.code === 'unreachable';
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
