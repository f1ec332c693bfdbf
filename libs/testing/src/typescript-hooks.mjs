// Runs TypeScript in a child process or worker thread of a test: node --import <this file> <file>.ts
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

const ROOT = new URL('../../../', import.meta.url);

registerHooks({
  resolve(specifier, context, next) {
    const library = /^#([a-z]+)\/(.*)\.js$/.exec(specifier);
    if (library !== null) return next(new URL(`libs/${library[1]}/src/${library[2]}.ts`, ROOT).href, context);
    const isOurs = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
    return next(isOurs ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
  load(url, context, next) {
    if (!url.endsWith('.ts')) return next(url, context);
    const filename = fileURLToPath(url);
    return { format: 'module', source: transformSync(readFileSync(filename, 'utf8'), { filename }).code, shortCircuit: true };
  },
});
