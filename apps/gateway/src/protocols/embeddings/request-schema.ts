import { fieldSchemas } from '../json-schema/fields-schema.js';
import { described, either, type JsonSchema, list, name, requestObject } from '../json-schema/json-schema.js';
import { EmbeddingFields } from './request.dto.js';
import { INPUTS_MAX, TOKEN_MAX } from './request.js';

const { required, optional } = fieldSchemas(EmbeddingFields, {
  model: 'Id of a model for embeddings from `GET /v1/models`, case-sensitive.',
  encoding_format: 'Form of the vectors: `float`, the default, or `base64` (32-bit floats, little endian).',
  dimensions: "Length of the vectors, where the model can shorten them. Default and maximum: the model's.",
  user: 'A stable id of your end user.',
});

const tokens: JsonSchema = { ...list({ type: 'integer', minimum: 0, maximum: TOKEN_MAX }), minItems: 1 };
const inputs: JsonSchema = { ...list(either(name, tokens)), minItems: 1, maxItems: INPUTS_MAX };

/** Schemas of the bodies of `POST /v1/embeddings`. A test checks that they agree with the parser. */
export const REQUEST_SCHEMAS: Record<string, JsonSchema> = {
  EmbeddingsRequest: requestObject(
    { ...required, input: described(either(name, tokens, inputs), 'A text, the tokens of one, or an array of either.') },
    optional,
  ),
};
