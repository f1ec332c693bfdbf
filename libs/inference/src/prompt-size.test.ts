import { ACCOUNT_LINES_BYTES, accountLine, NO_REASONING, outputInstruction } from './added-texts.js';
import { measurePrompt, promptBytesMax } from './prompt-size.js';
import type { OutputFormat } from './request.js';
import { signCallId } from './signed-call-id.js';
import type { Tool } from './tool.js';
import type { ToolCallPart, Turn } from './turn.js';

const NOTHING = { textBytes: 0, schemaBytes: 0, reasoningBytes: 0, signatureBytes: 0, images: 0 };
const size = (turns: Turn[], tools: Tool[] = [], output: OutputFormat = { kind: 'text' }) => measurePrompt({ turns, tools, output });
const said = (text: string): Turn => ({ role: 'user', parts: [{ type: 'text', text }], name: 'ann' });
const image = { type: 'image', mediaType: 'image/png', base64: 'A'.repeat(10_000) } as const;

test.each([
  ['Twelve bytes', 12],
  ['grüß', 6],
  ['🌍', 4],
  ['"\\\n'.repeat(100), 300],
  [' \n\t', 0],
])('%j counts its UTF-8 bytes as the model gets them, without JSON around them and without escapes [hold-size]', (text, textBytes) => {
  expect(size([said(text)])).toEqual({ ...NOTHING, textBytes });
});

test('images count in user turns and tool results, without their data', () => {
  const turns: Turn[] = [
    { role: 'user', parts: [image, { type: 'text', text: 'what is it?' }] },
    { role: 'tool', results: [{ callId: 'a', parts: [{ type: 'text', text: 'seen' }, image, image] }] },
  ];
  expect(size(turns)).toEqual({ ...NOTHING, textBytes: 15, images: 3, imageBytes: [7_500, 7_500, 7_500] });
});

test('tools count with their schemas, calls with name and arguments [hold-size]', () => {
  const call: ToolCallPart = {
    type: 'tool-call',
    callId: 'call_1',
    tool: { name: 'add', namespace: 'maths' },
    wireName: 'maths_add',
    kind: 'function',
    argumentsText: '{"a":"\\""}',
  };
  expect(size([{ role: 'assistant', parts: [call] }])).toEqual({ ...NOTHING, textBytes: 9 + 10, reasoningBytes: NO_REASONING.length });
  const add: Tool = { key: { name: 'add' }, wireName: 'add', kind: 'function', description: 'Adds "two"', parameters: { type: 'object' } };
  const patch: Tool = { key: { name: 'p' }, wireName: 'p', kind: 'custom', grammar: { syntax: 'lark', definition: 'start: "x"' } };
  expect(size([], [add, patch])).toEqual({ ...NOTHING, textBytes: 3 + 10 + '{"type":"object"}'.length + 1 + 10 });
});

test('the signature in the id of a call counts, whichever upstream gets it [hold-size]', () => {
  const call: ToolCallPart = {
    type: 'tool-call',
    callId: signCallId('call_1', 'c2ln'),
    tool: { name: 'a' },
    wireName: 'a',
    kind: 'function',
    argumentsText: '{}',
  };
  const parts = [{ type: 'reasoning' as const, text: 'Hm' }, call];
  expect(size([{ role: 'assistant', parts }])).toEqual({ ...NOTHING, textBytes: 3, reasoningBytes: 2, signatureBytes: 4 });
  expect(promptBytesMax(size([{ role: 'assistant', parts }]), false)).toBe(3 + 4);
});

test('the instruction with the schema of the output and earlier reasoning count apart, because not every upstream gets them', () => {
  const turns: Turn[] = [
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'r'.repeat(1_000) },
        { type: 'text', text: 'Hi' },
      ],
    },
  ];
  const output: OutputFormat = { kind: 'json-schema', name: 'x', schema: { type: 'null' } };
  const schemaBytes = outputInstruction(output).length;
  const measured = size(turns, [], output);
  expect(measured).toEqual({ textBytes: 2, schemaBytes, reasoningBytes: 1_000, signatureBytes: 0, images: 0 });
  expect([promptBytesMax(measured, false), promptBytesMax(measured, true)]).toEqual([2 + schemaBytes, 1_002 + schemaBytes]);
});

test('what the proxy may add counts: the instruction for JSON, and text in place of reasoning that the client did not keep', () => {
  const turns: Turn[] = [[], [{ type: 'reasoning' as const, text: '' }], [{ type: 'reasoning' as const, text: 'Hm' }]].map((parts) => ({
    role: 'assistant',
    parts,
  }));
  const schemaBytes = outputInstruction({ kind: 'json-object' }).length;
  expect(size(turns, [], { kind: 'json-object' })).toEqual({ ...NOTHING, schemaBytes, reasoningBytes: 2 * NO_REASONING.length + 2 });
});

test('the lines of an account have the bytes that are counted for them, with their line breaks', () => {
  expect(ACCOUNT_LINES_BYTES).toBe(2 * `${accountLine('k'.repeat(43))}\n`.length);
});
