import { IsIn, IsOptional, IsString } from 'class-validator';
import { PositiveInteger, RequiredText } from '../body-fields/validate-fields.js';

/** Forms of a vector: an array of numbers, or 32-bit floats in base64. */
const ENCODINGS = ['float', 'base64'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** The flat fields of a request for embeddings. `input` has several shapes and is parsed by hand (decision 0003). */
export class EmbeddingFields {
  @RequiredText() model!: string;
  @IsOptional() @IsIn(ENCODINGS, { message: 'must be float or base64' }) encoding_format?: Encoding;
  @PositiveInteger() dimensions?: number;
  @IsOptional() @IsString() user?: string;
}
