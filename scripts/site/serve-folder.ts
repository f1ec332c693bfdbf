import { createReadStream, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES: Record<string, string> = {
  ...{ '.html': 'text/html; charset=utf-8', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json' },
  ...{ '.md': 'text/markdown; charset=utf-8', '.txt': 'text/plain; charset=utf-8', '.yaml': 'application/yaml' },
  ...{ '.svg': 'image/svg+xml', '.png': 'image/png' },
};

/** Serves the files of a folder below a path on 127.0.0.1, as any host of files does. Resolves when it listens. */
export function serveFolder(folder: string, { base = '/', port = 0 }: { base?: string; port?: number }): Promise<Server> {
  const server = createServer((request, response) => {
    const file = findFile(folder, base, request.url ?? '/');
    if (file === undefined) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such page.\n');
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** Path of the file that a URL names, or undefined. A URL cannot leave the folder: `..` is resolved before the folder is put before it. */
function findFile(folder: string, base: string, url: string): string | undefined {
  let path: string;
  try {
    path = decodeURIComponent(url.split(/[?#]/, 1)[0] ?? '/');
  } catch {
    return undefined; // a malformed escape
  }
  if (!path.startsWith(base) || path.includes('\0')) return undefined;
  const file = join(folder, normalize(`/${path.slice(base.length)}`), path.endsWith('/') ? 'index.html' : '');
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? file : undefined;
}
