import { estimateOutputTokens } from '#inference/estimate-tokens.js';
import type { OutputFormat } from '#inference/request.js';
import { isObject, parseJson } from '../../upstreams/replies/json-object.js';
import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { type Check, count, no, unclear, yes } from './check.js';

const ASK_JSON = 'Give the capital of France and its population as a JSON object with the fields city and population.';
const SCHEMA: OutputFormat = {
  kind: 'json-schema',
  name: 'capital',
  strict: true,
  schema: {
    type: 'object',
    properties: { city: { type: 'string' }, population: { type: 'integer' } },
    required: ['city', 'population'],
    additionalProperties: false,
  },
};
const ASK_COLOUR = 'Which colour is this image? Answer with one word.';
/** 64 × 64 pixels, all red. Some models refuse smaller images. */
const RED_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgAsetfWiP4FgYrsKZeS0BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC';

export const outputChecks: Check[] = [
  {
    id: 'json-object',
    title: 'writes a JSON object',
    run: async (prober) => judgeJsonObject(await prober.send({ turns: ASK_JSON, output: { kind: 'json-object' } })),
  },
  {
    id: 'json-schema',
    title: 'follows a JSON schema',
    run: async (prober) => judgeJsonSchema(await prober.send({ turns: ASK_JSON, output: SCHEMA, capabilities: { jsonSchema: true } })),
  },
  {
    id: 'images',
    title: 'sees images',
    async run(prober, notes) {
      const image = { type: 'image', mediaType: 'image/png', base64: RED_PNG } as const;
      const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: ASK_COLOUR }, image] }];
      const finding = judgeImage(await prober.send({ turns }));
      notes.seesImages = finding.verdict === 'yes';
      return finding;
    },
  },
];

export function judgeJsonObject({ failure, text, finishReason }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (finishReason === 'length') return unclear('cut before its end');
  return isObject(parseJson(text)) ? yes('a JSON object') : no('text that is no JSON object');
}

/** A schema that is accepted and ignored counts as unsupported: the request then carries it as an instruction. */
export function judgeJsonSchema({ failure, text, finishReason }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure, { jsonSchema: false });
  if (finishReason === 'length') return unclear('cut before its end');
  const value = parseJson(text);
  if (!isObject(value)) return no('taken, and answered with text that is no JSON object', { jsonSchema: false });
  const fits = typeof value.city === 'string' && Number.isInteger(value.population) && Object.keys(value).length === 2;
  return fits ? yes('exactly its fields', { jsonSchema: true }) : no('taken, and not kept to', { jsonSchema: false });
}

/** More prompt tokens than the text alone can account for. */
const IMAGE_TOKENS_MIN = 64;

/** Some servers silently drop images: then the colour is unknown and no prompt tokens are counted for it. */
export function judgeImage({ failure, text, usage }: ProbeResult): Finding {
  if (failure !== undefined) return judgeFailure(failure);
  if (/\bred\b/i.test(text)) return yes('it knows the colour');
  const forIt = usage?.promptSource === 'reported' ? usage.promptTokens - estimateOutputTokens(Buffer.byteLength(ASK_COLOUR)) : 0;
  if (forIt >= IMAGE_TOKENS_MIN) return yes(`about ${count(forIt, 'prompt token')} for it, though the colour is not named`);
  return unclear('taken, but it does not know the colour');
}
