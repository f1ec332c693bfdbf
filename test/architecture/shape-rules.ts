import { basename, dirname } from 'node:path';

/** A file of the repository: its path from the root and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** Looks at all files and returns one line a fault. */
export type ShapeRule = (files: SourceFile[]) => string[];

const TEST = /\.test\.ts$|(^|\/)(test|testing)\/|\/(test-|conformance)[-a-z]*\.ts$|^bench\//;
const ADAPTER_FAMILIES: Record<string, string[]> = {
  'apps/gateway/src/protocols': [
    ...[
      'adapter.ts',
      'request.dto.ts',
      'request.ts',
      'turns.ts',
      'tools.ts',
      'response.ts',
      'stream.ts',
      'finish-reason.ts',
      'usage.ts',
      'errors.ts',
    ],
    ...['request-schema.ts', 'reply-schema.ts', 'examples.ts', 'conformance-client.ts', 'adapter.test.ts'],
  ],
  'apps/inference-proxy/src/upstreams': [
    ...['adapter.ts', 'call-id.ts', 'errors.ts', 'finish-reason.ts', 'request.ts', 'response.ts', 'stream.ts', 'usage.ts'],
    'adapter.test.ts',
  ],
};
const EMPTY_NAMES = /^(utils?|helpers?|common|shared|misc|index|types|constants|mappers?)$/;
const LINES_MAX = 300;
const TEST_LINES_MAX = 500;

/** Learn one adapter, know all: every folder with an `adapter.ts` has the core files of its family. It may have more. */
export const adaptersHaveTheCore: ShapeRule = (files) => {
  const paths = new Set(files.map(({ path }) => path));
  return Object.entries(ADAPTER_FAMILIES).flatMap(([family, core]) => {
    const names = [...paths].flatMap((path) => new RegExp(`^${family}/([^/]+)/adapter\\.ts$`).exec(path)?.[1] ?? []);
    return names.flatMap((name) =>
      core.filter((file) => !paths.has(`${family}/${name}/${file}`)).map((file) => `${family}/${name} has no ${file}`),
    );
  });
};

/** A file is named for the one thing in it. */
export const noEmptyNames: ShapeRule = (files) =>
  code(files).flatMap(({ path }) =>
    path.split('/').some((part) => EMPTY_NAMES.test(part.split('.')[0] ?? '')) ? [`${path}: the name says nothing`] : [],
  );

/** The import line names the file: no file that only passes on what others export. */
export const noBarrels: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    const statements = text
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .split(';')
      .map((statement) => statement.trim())
      .filter(Boolean);
    const passesOn = statements.length > 0 && statements.every((statement) => /^export\b[\s\S]*\bfrom\s*['"]/.test(statement));
    return passesOn ? [`${path}: only passes on exports`] : [];
  });

export const filesAreShort: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    const lines = text.split('\n').length - 1;
    const linesMax = TEST.test(path) ? TEST_LINES_MAX : LINES_MAX;
    return lines > linesMax ? [`${path}: ${lines} lines, more than ${linesMax}`] : [];
  });

/** Settings are classes read by libs/config; nothing else looks at the environment. */
export const environmentIsReadInOnePlace: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    const allowed = /^libs\/(config|testing)\//.test(path) || !/^(apps|libs)\//.test(path) || TEST.test(path);
    return !allowed && /\bprocess\.env\b/.test(text) ? [`${path}: reads process.env`] : [];
  });

/** Nothing but the calls of upstreams leaves the system: no webhooks, and no links fetched (spec 1 rule 7, spec 6). */
export const callsGoOutInOnePlace: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    const allowed = path.startsWith('apps/inference-proxy/src/transport/') || !/^(apps|libs)\//.test(path) || TEST.test(path);
    const calls = /^import (?!type).*from 'undici'|\bfetch\(|import (?!type)[^;]*\b(request|get)\b[^;]*from 'node:https?'/m;
    return !allowed && calls.test(text) ? [`${path}: calls out over HTTP`] : [];
  });

export const everyAppIsExplained: ShapeRule = (files) => {
  const apps = new Set(files.flatMap(({ path }) => /^apps\/([^/]+)\/src\//.exec(path)?.[1] ?? []));
  return [...apps].flatMap((app) => {
    const readme = files.find(({ path }) => path === `apps/${app}/README.md`)?.text ?? '';
    return ['Owns', 'Does not own', 'Invariants'].flatMap((word) =>
      new RegExp(word, 'i').test(readme) ? [] : [`apps/${app}/README.md does not say: ${word}`],
    );
  });
};

/** Nothing may depend on where it was written or installed from. */
export const noForeignPlaces: ShapeRule = (files) => {
  const places = [
    /(?<![\w.])\/(work|home|Users)\/[\w.-]+\//,
    new RegExp(['\\.\\./', 'shared\\b'].join('')),
    new RegExp(['registry', '\\.', 'npmjs'].join('')),
  ];
  const lockFilePlaces = [...places, /"resolved": "http/];
  return files.flatMap(({ path, text }) =>
    (path.endsWith('package-lock.json') ? lockFilePlaces : places).flatMap((place) => {
      const found = place.exec(text)?.[0];
      return found ? [`${path}: names ${found}`] : [];
    }),
  );
};

/** A test that runs alone hides the others; one that is left out says why on its line or the line before. */
export const noSilencedTests: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    const lines = text.split('\n');
    return lines.flatMap((line, index) => {
      const at = `${path}:${index + 1}`;
      if (/\b(it|test|describe)\.only\b|^\s*(fit|fdescribe)\(/.test(line)) return [`${at}: runs alone`];
      const leftOut = /\b(it|test|describe)\.(skip|todo)\b|^\s*(xit|xtest|xdescribe)\(/.test(line);
      const reason = /\/\//.test(line) || /^\s*\/\//.test(lines[index - 1] ?? '');
      return leftOut && !reason ? [`${at}: left out without a reason`] : [];
    });
  });

/** A test stands beside what it tests. */
export const testsStandBesideTheCode: ShapeRule = (files) => {
  const folders = new Set(code(files).flatMap(({ path }) => (path.endsWith('.test.ts') ? [] : [dirname(path)])));
  return files.flatMap(({ path }) =>
    /^(apps|libs)\/.*\.test\.ts$/.test(path) && !folders.has(dirname(path)) ? [`${path}: nothing to test in its folder`] : [],
  );
};

function code(files: SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /\.(ts|mts|mjs)$/.test(path) && !/\.d\.m?ts$/.test(path) && basename(path) !== 'jest.config.mjs');
}
