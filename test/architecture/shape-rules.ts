import { basename, dirname, join, normalize } from 'node:path';

/** A file of the repository: its path from the root and its text. */
export interface SourceFile {
  path: string;
  text: string;
}

/** Returns one complaint for each violation. */
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
const NAMES_WITH_OF_MAX = 40;

/** Every folder with an `adapter.ts` has the core files of its family, so that a reader of one finds their way in all. It may have more. */
export const adaptersHaveTheCore: ShapeRule = (files) => {
  const paths = new Set(files.map(({ path }) => path));
  return Object.entries(ADAPTER_FAMILIES).flatMap(([family, core]) => {
    const names = [...paths].flatMap((path) => new RegExp(`^${family}/([^/]+)/adapter\\.ts$`).exec(path)?.[1] ?? []);
    return names.flatMap((name) =>
      core.filter((file) => !paths.has(`${family}/${name}/${file}`)).map((file) => `${family}/${name} has no ${file}`),
    );
  });
};

/** A doc comment starts with what the thing is or does, such as "Milliseconds until" or "Returns". */
export const docCommentsNameTheirSubject: ShapeRule = (files) =>
  files
    .filter(({ path }) => /\.(ts|tsx|mjs)$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^ *\/\*\*(?:\n *\*)? (What|Whether|Which|Of|Those|Why|When|Who|How) /gm)].map(
        ({ 1: word, index }) => `${path}:${text.slice(0, index).split('\n').length}: starts with "${word}"`,
      ),
    );

/** Members are `private`. A `#member` is one that loggers must not find, and the comment before it says so. */
export const hashMembersGiveTheirReason: ShapeRule = (files) =>
  files
    .filter(({ path }) => /\.tsx?$/.test(path))
    .flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, index, lines) =>
          /^ +(readonly |static |async |get |set )*#[a-z]\w*\b/.test(line) && !/`#private`/.test(lines[index - 1] ?? '')
            ? [`${path}:${index + 1}: use private, or say why it is #private`]
            : [],
        ),
    );

/**
 * Functions are named by a verb and values by a noun: `describeChange`, `budgetTarget`. The few names with `Of` that stay are those of
 * languages, JSON Schema and contracts.
 */
export const fewNamesContainOf: ShapeRule = (files) => {
  const words = code(files).flatMap(({ text }) => text.match(/\b[A-Za-z]*[a-z]Of(?:[A-Z]\w*)?\b/g) ?? []);
  const names = [...new Set(words)].sort();
  return names.length > NAMES_WITH_OF_MAX ? [`${names.length} names contain Of, more than ${NAMES_WITH_OF_MAX}: ${names.join(', ')}`] : [];
};

/** A file is named for the one thing in it. */
export const noEmptyNames: ShapeRule = (files) =>
  code(files).flatMap(({ path }) =>
    path.split('/').some((part) => EMPTY_NAMES.test(part.split('.')[0] ?? '')) ? [`${path}: the name says nothing`] : [],
  );

/** No file only re-exports others, so that every import line names the file it needs. */
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

/** Postgres has one space of advisory locks for all services: two parts with one number would wait for each other for ever. */
export const advisoryLocksAreDistinct: ShapeRule = (files) => {
  const taken = new Map<string, string>();
  return files.flatMap(({ path, text }) =>
    TEST.test(path)
      ? []
      : [...text.matchAll(/\b7_?243_?(\d{3})\b/g)].flatMap(([, lock = '']) => {
          const first = taken.get(lock) ?? path;
          taken.set(lock, first);
          return first === path ? [] : [`${path}: takes advisory lock 7_243_${lock}, as does ${first}`];
        }),
  );
};

/** Only libs/config reads the environment; settings are classes. */
export const environmentIsReadInOnePlace: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    // Browsers have no environment: the panel's pages show calls for other programs.
    const allowed = /^(libs\/(config|testing)|apps\/panel\/ui)\//.test(path) || !/^(apps|libs)\//.test(path) || TEST.test(path);
    return !allowed && /\bprocess\.env\b/.test(text) ? [`${path}: reads process.env`] : [];
  });

/**
 * Only calls of upstreams, of webhooks, of providers of sign-in and of Stripe leave the system, and the playground calls the gateway: no
 * links are fetched.
 */
export const callsGoOutInOnePlace: ShapeRule = (files) =>
  code(files).flatMap(({ path, text }) => {
    // The panel's pages run in browsers, whose policy lets them call their own server alone.
    const allowed =
      /^(apps\/(inference-proxy\/src\/transport|panel\/src\/(identity\/sso|playground)|panel\/ui)|libs\/network\/src\/forward-proxy)\//.test(
        path,
      ) ||
      path === 'apps/billing/src/events/webhook-client.ts' ||
      path === 'apps/payments/src/stripe/stripe-client.ts' ||
      !/^(apps|libs)\//.test(path) ||
      TEST.test(path);
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

/** Nothing depends on the place where it was written or installed from. */
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

/**
 * Comments and pages cite only files, headings and rule ids of the repository. Applied migrations are never edited, and the page of the
 * rules is generated.
 */
export const citationsResolve: ShapeRule = (files) => {
  const endings = new Set(files.flatMap(({ path }) => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const rules = new Set([...(texts.get('docs/rules.yaml') ?? '').matchAll(/^ {4}([\w-]+):/gm)].map(([, id]) => id));
  const findPage = (path: string, name: string): string | undefined =>
    [normalize(join(dirname(path), name)), name].map((place) => texts.get(place)).find((text) => text !== undefined);
  return files.flatMap(({ path, text }) => {
    if (/^prisma\/migrations\/|^docs\/rules\.yaml$|package-lock\.json$/.test(path)) return [];
    const prose = extractProse(path, text);
    const found = (pattern: RegExp): [cited: string, part: string][] =>
      [...prose.matchAll(pattern)].map(([cited, file = cited, part = '']) => [file, part]);
    const missing = [
      ...found(FILE_NAMES).filter(([name]) => !endings.has(name) && !FOREIGN_FILES.test(name) && findPage(path, name) === undefined),
      ...found(ANCHORS).filter(([name, anchor]) => !listHeadings(findPage(path, name)).some((heading) => slug(heading) === anchor)),
      ...found(HEADINGS).filter(([name, heading]) => !listHeadings(findPage(path, name)).includes(heading)),
      ...found(RULE_IDS).filter(([id]) => !rules.has(id)),
      ...found(FOREIGN_DOCUMENTS),
    ];
    return missing.map(([name, part]) => `${path}: cites ${part ? `${name} ${part}` : name}`);
  });
};

const FILE_NAMES = /(?<![\w./@-])((?:[\w.-]+\/)*[\w.-]*[\w-]\.(?:md|ts|mjs|ya?ml|sql|prisma|conf))(?![\w-])/g;
/** Patterns such as `.test.ts`, generated files, results of runs (whose links documentation.test.ts checks), and names in examples. */
const FOREIGN_FILES =
  /^[.-][\w.-]+$|^(\.\.?\/)?(\.local\/|node_modules\/|dist\/|charts\/)|^(\.\.\/)*bench\/results\/|^docs\/conformance\.md$|^(values|tenants)\.yaml$|^hello\.mjs$/;
const ANCHORS = /([\w./-]+\.md)#([\w-]+)/g;
const HEADINGS = /([\w./-]+\.md), ["“«]([^"”»]+)["”»]/g;
const RULE_IDS = /(?<![\w/.-])([A-Z]-\d+[a-i]?)(?![\w-])/g;
const FOREIGN_DOCUMENTS = /\b(?:spec \d[\d.]*|checklist\b)/g;

/** The text of a page without its code blocks; the comments of any other file. */
function extractProse(path: string, text: string): string {
  if (path.endsWith('.md')) return text.replace(/^```[\s\S]*?^```/gm, '');
  return (text.match(/\/\*[\s\S]*?\*\/|(?:^|\s)(?:\/\/|#|--) .*$/gm) ?? []).join('\n');
}

function listHeadings(page = ''): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
}

/** The anchor that GitHub gives to a heading. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** To `toMatchObject` a regular expression is an object without fields, which every text matches. */
export const patternsAreCompared: ShapeRule = (files) =>
  files
    .filter(({ path }) => /\.test\.ts$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\.toMatchObject\([^;]*?: \/(?![/*])/g)].map(
        ({ index }) => `${path}:${text.slice(0, index).split('\n').length}: use expect.stringMatching`,
      ),
    );

/** `only` hides other tests; `skip` needs a reason on its line or the line before. */
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

/** A test is in the folder of the code that it tests. */
export const testsStandBesideTheCode: ShapeRule = (files) => {
  const folders = new Set(code(files).flatMap(({ path }) => (path.endsWith('.test.ts') ? [] : [dirname(path)])));
  return files.flatMap(({ path }) =>
    /^(apps|libs)\/.*\.test\.ts$/.test(path) && !folders.has(dirname(path)) ? [`${path}: nothing to test in its folder`] : [],
  );
};

function code(files: SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => /\.(ts|mjs)$/.test(path) && basename(path) !== 'jest.config.mjs');
}
