import { IsBoolean, IsOptional } from 'class-validator';
import { NumberBetween, PositiveInteger, RequiredText } from '../body-fields/validate-fields.js';

/** The flat fields of a messages request (spec 4.5, M-10); all others are of several shapes, or ignored (M-12). */
export class MessagesFields {
  @RequiredText() model!: string;
  /** Required of a request that generates, and looked for there. */
  @PositiveInteger() max_tokens?: number;
  @NumberBetween(0, 1) temperature?: number;
  @NumberBetween(0, 1) top_p?: number;
  @IsOptional() @IsBoolean() stream?: boolean;
}
