import { IsBoolean, IsOptional } from 'class-validator';
import { NumberBetween, PositiveInteger, RequiredText } from '../body-fields/validate-fields.js';

/** The flat fields of a messages request. All other fields have several shapes or are ignored. */
export class MessagesFields {
  @RequiredText() model!: string;
  /** Required for generation; `parseRequest` checks it. */
  @PositiveInteger() max_tokens?: number;
  @NumberBetween(0, 1) temperature?: number;
  @NumberBetween(0, 1) top_p?: number;
  @IsOptional() @IsBoolean() stream?: boolean;
}
