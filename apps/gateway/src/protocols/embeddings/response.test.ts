import fc from 'fast-check';
import { closed, DocumentSchemas } from '#testing/document-schemas.js';
import { testCases } from '#testing/long-run.js';
import { reportedUsage } from '#testing/token-usage.js';
import { openApiDocument } from '../../openapi/document.js';
import { renderEmbeddings } from './response.js';

const schemas = new DocumentSchemas(closed(openApiDocument()));
const usage = reportedUsage(7, 0);

const floats = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 5 });

testCases('numbers and base64 are the same 32-bit floats, whichever the upstream sends', { usual: 200, long: 5_000 }, floats, (vector) => {
  const base64 = Buffer.from(new Float32Array(vector).buffer).toString('base64');
  const vectors = [vector, base64];
  const read = (encoding: 'float' | 'base64') => {
    const reply = JSON.parse([...renderEmbeddings({ model: 'm', encoding, vectors, usage })].join(''));
    expect(schemas.component('EmbeddingList', reply)).toEqual([]);
    return reply;
  };
  // JSON has no -0.
  const numbers = vector.map((value) => value + 0);
  expect(read('float')).toEqual({
    object: 'list',
    data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: numbers })),
    model: 'm',
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
  expect(read('base64').data.map(({ embedding }: { embedding: string }) => embedding)).toEqual([base64, base64]);
});

test('numbers of an upstream keep their digits', () => {
  const [text] = renderEmbeddings({ model: 'm', encoding: 'float', vectors: [[0.1, 1e-9]], usage });
  expect(text).toContain('"embedding":[0.1,1e-9]');
});

test('a large reply comes in pieces', () => {
  const pieces = [...renderEmbeddings({ model: 'm', encoding: 'base64', vectors: Array(50).fill('A'.repeat(8_192)), usage })];
  expect([pieces.length, JSON.parse(pieces.join('')).data.length]).toEqual([7, 50]);
});
