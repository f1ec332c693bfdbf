import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { RequestHandler } from 'express';

/** Policy of the pages: files of this server alone, no inline script or style, no frames. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
};

const SHELL = '/index.html';
/** Files with a hash of their contents in the name, as Vite writes them. */
const HASHED = /^\/assets\//;

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tollgate</title>
<h1>The pages of the panel are not built</h1>
<p>Run <code>npm run build</code> and restart the panel. The API below <code>/panel/v1</code> works without them.</p></html>
`;

interface StaticFile {
  type: string;
  cacheControl: string;
  /** Contents by encoding: always `identity`, and `br` and `gzip` where the build made them. */
  bodies: Map<string, Buffer>;
}

/**
 * Returns the handler of `/panel/`: the files of the built UI in `folder`, read once. A path without a file gets the shell, whose router
 * shows the page. Leaves everything but GET and HEAD to the next handler.
 */
export function staticFiles(folder: string): RequestHandler {
  const files = existsSync(join(folder, SHELL))
    ? readFiles(folder)
    : new Map([[SHELL, makeFile(SHELL, new Map([['identity', Buffer.from(NOT_BUILT)]]))]]);
  return (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next();
    // A missing file of an older build must fail: the shell is no script.
    const file = files.get(request.path) ?? (HASHED.test(request.path) ? undefined : files.get(SHELL));
    if (!file) {
      response.status(404).type('text/plain').send('no such file\n');
      return;
    }
    const encoding = request.acceptsEncodings([...file.bodies.keys()]) || 'identity';
    const body = file.bodies.get(encoding) ?? file.bodies.get('identity');
    response.set({
      'content-type': file.type,
      'cache-control': file.cacheControl,
      vary: 'accept-encoding',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
    if (encoding !== 'identity') response.set('content-encoding', encoding);
    response.end(body);
  };
}

/** Returns the files of a folder by path, `/assets/main-1a2b.js`. */
function readFiles(folder: string): Map<string, StaticFile> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/'));
  const served = paths.filter((path) => TYPES[extname(path)] !== undefined);
  return new Map(
    served.map((path) => {
      const bodies = new Map([['identity', readFileSync(join(folder, path))]]);
      for (const [encoding, ending] of [
        ['br', '.br'],
        ['gzip', '.gz'],
      ] as const) {
        if (paths.includes(path + ending)) bodies.set(encoding, readFileSync(join(folder, path + ending)));
      }
      return [path, makeFile(path, bodies)];
    }),
  );
}

function makeFile(path: string, bodies: Map<string, Buffer>): StaticFile {
  const cacheControl = HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache';
  return { type: TYPES[extname(path)] ?? 'application/octet-stream', cacheControl, bodies };
}
