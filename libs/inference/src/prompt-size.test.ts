import { measurePrompt } from './prompt-size.js';
import type { Turn } from './turn.js';

const size = (turns: Turn[]) => measurePrompt({ turns, tools: [], output: { kind: 'text' } }, false);
const image = { type: 'image', mediaType: 'image/png', base64: 'A'.repeat(10_000) } as const;

test('text counts in UTF-8 bytes of the canonical prompt as JSON [hold-size]', () => {
  const turns: Turn[] = [{ role: 'user', parts: [{ type: 'text', text: 'grüß' }] }];
  const json = '{"turns":[{"role":"user","parts":[{"type":"text","text":"grüß"}]}],"tools":[],"output":{"kind":"text"}}';
  expect(size(turns)).toEqual({ textBytes: Buffer.byteLength(json), images: 0 });
});

test('counts images in user turns and tool results, without their data', () => {
  const turns: Turn[] = [
    { role: 'user', parts: [image, { type: 'text', text: 'what is it?' }] },
    { role: 'tool', results: [{ callId: 'a', parts: [{ type: 'text', text: 'seen' }, image, image] }] },
  ];
  const without: Turn[] = [
    { role: 'user', parts: [{ type: 'text', text: 'what is it?' }] },
    { role: 'tool', results: [{ callId: 'a', parts: [{ type: 'text', text: 'seen' }] }] },
  ];
  expect(size(turns)).toEqual({ textBytes: size(without).textBytes, images: 3 });
});

test('tool definitions and calls are part of the prompt', () => {
  const plain = measurePrompt({ turns: [], tools: [], output: { kind: 'text' } }, false);
  const tool = { key: { name: 'add' }, wireName: 'add', kind: 'function' as const, parameters: { type: 'object' } };
  const withTool = measurePrompt({ turns: [], tools: [tool], output: { kind: 'text' } }, false);
  expect(withTool.textBytes - plain.textBytes).toBe(JSON.stringify(tool).length);
});

test('reasoning of earlier turns counts only if it is sent back to the model', () => {
  const call = { type: 'tool-call', callId: 'a', tool: { name: 'x' }, wireName: 'x', kind: 'function', argumentsText: '{}' } as const;
  const turns: Turn[] = [{ role: 'assistant', parts: [{ type: 'reasoning', text: 'r'.repeat(1_000) }, call] }];
  const bytesOf = (prompt: Turn[]) => Buffer.byteLength(JSON.stringify({ turns: prompt, tools: [], output: { kind: 'text' } }));
  expect(measurePrompt({ turns, tools: [], output: { kind: 'text' } }, true)).toEqual({ textBytes: bytesOf(turns), images: 0 });
  expect(size(turns)).toEqual({ textBytes: bytesOf([{ role: 'assistant', parts: [call] }]), images: 0 });
});
