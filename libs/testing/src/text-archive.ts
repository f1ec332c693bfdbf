import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Reads text archives (`*.txtar`) in the format of Go's txtar: a comment, then each file after a line `-- name --`. As in a diff, the line
 * `\ No newline at end of file` after a file means that its last line has no line break. All other bytes are kept, carriage returns too.
 */
export function readArchive(path: string): Map<string, Buffer> {
  // One character a byte, so that a file in any encoding is kept.
  const [, ...namesAndContents] = readFileSync(path, 'latin1').split(/^-- (.+) --(?:\n|$)/m);
  const files = new Map<string, Buffer>();
  for (let at = 0; at < namesAndContents.length; at += 2) {
    const [name = '', content = ''] = namesAndContents.slice(at);
    add(files, name, Buffer.from(content.replace(/\n\\ No newline at end of file\n?$/, ''), 'latin1'), path);
  }
  if (files.size === 0) throw new Error(`${path} has no files: each begins with a line "-- name --"`);
  return files;
}

/** Reads the files in all archives of a folder, sorted by name. Throws when two have the same name. */
export function readArchives(folder: string): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const archive of readdirSync(folder).filter((file) => file.endsWith('.txtar'))) {
    for (const [name, content] of readArchive(join(folder, archive))) add(files, name, content, folder);
  }
  return new Map([...files].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function add(files: Map<string, Buffer>, name: string, content: Buffer, place: string): void {
  if (files.has(name)) throw new Error(`${place} has ${name} twice`);
  files.set(name, content);
}
