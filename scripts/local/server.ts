#!/usr/bin/env node
/** `tollgate-server` of the npm package: the first file that runs, which older versions of Node can read too. */
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const [leastMajor, leastMinor, below] = engines.node.match(/\d+/g).map(Number);
const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
if (major < leastMajor || (major === leastMajor && minor < leastMinor) || major >= below)
  fail(`needs Node ${engines.node}, and this is ${process.versions.node}`);
if (!['linux', 'darwin'].includes(process.platform)) fail(`runs on Linux and macOS, not on ${process.platform}`);
const { serve } = await import('./serve.ts');
await serve(process.argv.slice(2));

function fail(reason: string): never {
  process.stderr.write(`tollgate-server ${reason}\n`);
  process.exit(1);
}
