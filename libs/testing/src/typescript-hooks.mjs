// Runs TypeScript in a child process or worker thread of a test: node --import <this file> <file>.ts
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = specifier.startsWith('.') && context.parentURL?.endsWith('.ts');
    const conditions = ['@tollgate/source', ...context.conditions];
    return next(isOurs ? specifier.replace(/\.js$/, '.ts') : specifier, { ...context, conditions });
  },
  load(url, context, next) {
    if (!url.endsWith('.ts')) return next(url, context);
    const filename = fileURLToPath(url);
    return {
      format: 'module',
      source: transformSync(readFileSync(filename, 'utf8'), { filename, sourceMaps: 'inline' }).code,
      shortCircuit: true,
    };
  },
});
