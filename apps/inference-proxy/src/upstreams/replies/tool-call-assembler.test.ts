import type { StreamEvent } from '#inference/stream-event.js';
import { foldEvents } from '../../../test/upstream-writer.js';
import { ToolCallAssembler, type ToolCallPiece } from './tool-call-assembler.js';

const TOOLS = ['run', 'read', 'ping'].map((name) => ({ key: { name }, wireName: name, kind: 'function' as const }));
const LS = '{"command":"ls"}';
const PWD = '{"command":"pwd"}';

/** Pieces as `index id name arguments`; `-` is an absent field. */
function parsePieces(lines: readonly string[]): ToolCallPiece[] {
  return lines.map((line) => {
    const [, index = '-', id = '-', name = '-', args = ''] = /^(\S+) (\S+) (\S+) ?(.*)$/s.exec(line) ?? [];
    return {
      ...(index !== '-' && { index: Number(index) }),
      ...(id !== '-' && { id }),
      ...(name !== '-' && { name }),
      argumentsText: args === '-' ? undefined : args,
    };
  });
}

function assemble(pieces: readonly ToolCallPiece[]): string[] {
  const events: StreamEvent[] = [];
  const calls = new ToolCallAssembler(TOOLS);
  for (const piece of pieces) calls.push(piece, events);
  calls.end(events);
  return foldEvents(events).calls.map(({ name, text }) => `${name} ${text}`);
}

test.each<[string, string[]]>([
  ['id and name again, without arguments', [`0 a run ${LS}`, '0 a run ']],
  ['id and name again, arguments null', [`0 a run ${LS}`, '0 a run -']],
  ['id and name again, a line end', [`0 a run ${LS}`, '0 a run \n']],
  ['the name again, without id', [`0 a run ${LS}`, '0 - run ']],
  ['the id again, without name', [`0 a run ${LS}`, '0 a - ']],
  ['all of it again', [`0 a run ${LS}`, `0 a run ${LS}`]],
  ['without indexes', [`- a run ${LS}`, '- a run ']],
  ['without index and id, the name again', [`- - run ${LS}`, '- - run ']],
  ['id, name and a part in each piece', ['0 a run {"command":', '0 a run "ls"}', '0 a run ']],
  ['the word null before the arguments', ['0 a run null', `0 - - ${LS}`]],
  ['an empty list before the arguments', ['0 a run []', `0 - - ${LS}`]],
  ['an id for each piece', ['0 a run {"command":', '0 b run "ls"}', '0 c run ']],
  ['an id for each piece, the first without arguments', ['0 a run ', '0 b run {"command":', '0 c - "ls"}', '0 d run ']],
  ['again and again', [`0 a run ${LS}`, '0 a run ', '0 - run ', '0 a - ']],
])('one call: %s', (_what, lines) => {
  expect(assemble(parsePieces(lines))).toEqual([`run ${LS}`]);
});

test.each<[string, string[], string[]]>([
  ['two ids at one index', [`0 a run ${LS}`, `0 b run ${LS}`], [`run ${LS}`, `run ${LS}`]],
  [
    'two ids at one index, with more text of the first',
    ['0 a run {"command":', `0 b run ${PWD}`, '0 a - "ls"}'],
    [`run ${LS}`, `run ${PWD}`],
  ],
  ['one id at two indexes', [`0 a run ${LS}`, `1 a run ${LS}`], [`run ${LS}`, `run ${LS}`]],
  ['no ids, one index, other arguments', [`0 - run ${LS}`, `0 - run ${PWD}`], [`run ${LS}`, `run ${PWD}`]],
  [
    'no ids, one index, the name before the arguments',
    ['0 - run ', `0 - - ${LS}`, '0 - run ', `0 - - ${PWD}`],
    [`run ${LS}`, `run ${PWD}`],
  ],
  ['no ids, no indexes, other names', [`- - run ${LS}`, `- - read ${LS}`], [`run ${LS}`, `read ${LS}`]],
  [
    'two ids at one index, announced before the arguments',
    ['0 a run ', '0 b run ', `0 a - ${LS}`, `0 b - ${PWD}`],
    [`run ${LS}`, `run ${PWD}`],
  ],
  ['two ids at one index, without arguments', ['0 a ping ', '0 b ping '], ['ping {}', 'ping {}']],
  ['the first repeated after the second has begun', [`0 a run ${LS}`, `0 b run ${PWD}`, `0 a run ${LS}`], [`run ${LS}`, `run ${PWD}`]],
])('two calls: %s', (_what, lines, expected) => {
  expect(assemble(parsePieces(lines)).sort()).toEqual(expected.sort());
});

test.each<[string, string[]]>([
  ['other arguments', [`0 a run ${LS}`, `0 - - ${PWD}`]],
  ['other arguments under the same id', [`0 a run ${LS}`, `0 a run ${PWD}`]],
  ['text', [`0 a run ${LS}`, '0 - - and more']],
  ['text, after a nested object that begins like its parent', ['0 a run {"a":', '0 - - {"a":1}}and more']],
])('whole arguments that are followed by %s fail the reply', (_what, lines) => {
  expect(() => assemble(parsePieces(lines))).toThrow(expect.objectContaining({ kind: 'broken', code: 'upstream_error' }));
});

test('a whole text that repeats whole arguments twice adds nothing', () => {
  const pieces = [
    { index: 0, id: 'a', name: 'run', argumentsText: LS },
    { index: 0, argumentsText: LS + LS, whole: true },
  ];
  expect(assemble(pieces)).toEqual([`run ${LS}`]);
});

test('arguments that are no JSON object are passed on as they are', () => {
  expect(assemble(parsePieces(["0 a run {'command':", "0 - - 'ls'} or so"]))).toEqual(["run {'command':'ls'} or so"]);
});

test.each<[string, string[]]>([
  ['once', ['{"}":"', '{"}":"ls"}']],
  ['twice, and whole again', ['{"}":"', '{"}":"l', '{"}":"ls"}', '{"}":"ls"}']],
  ['before another call', ['{"}":"', '{"}":"ls"}', '']],
])('cumulated arguments whose text ends an object in the middle are one object: %s', (_what, pieces) => {
  expect(assemble(parsePieces(pieces.map((text) => `0 a run ${text}`)))).toEqual(['run {"}":"ls"}']);
});

test.each<[string, string[]]>([
  ['an empty object', ['{"a":', '{"a":1}}{}']],
  ['the arguments twice', ['{"a":', '{"a":1}}{"a":{"a":1}}{"a":{"a":1}}']],
  ['the arguments in two parts', ['{"a":', '{"a":1}}{ "a":', '{"a":1}}']],
])('a nested object that begins like its parent is no cumulation: followed by %s', (_what, pieces) => {
  expect(assemble(parsePieces(pieces.map((text) => `0 a run ${text}`)))).toEqual(['run {"a":{"a":1}}']);
});

test('arguments that a nested object repeats stay as they are', () => {
  expect(assemble(parsePieces(['0 a run {"a":', '0 - - {"a":', '0 - - {"a":', '0 - - 1}}}']))).toEqual(['run {"a":{"a":{"a":1}}}']);
});
