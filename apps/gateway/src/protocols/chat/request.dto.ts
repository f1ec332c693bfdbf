import { Equals, IsBoolean, IsOptional, IsString } from 'class-validator';
import { NumberBetween, PositiveInteger, RequiredText } from '../body-fields/validate-fields.js';

/**
 * The flat fields of a chat completion request (spec 4.3). Messages, tools and the other fields of many shapes are parsed
 * by hand: decision 0003 has the figures.
 */
export class ChatFields {
  @RequiredText() model!: string;
  @IsOptional() @IsBoolean() stream?: boolean;
  @PositiveInteger() max_tokens?: number;
  @PositiveInteger() max_completion_tokens?: number;
  @NumberBetween(0, 2) temperature?: number;
  @NumberBetween(0, 1) top_p?: number;
  @IsOptional() @IsString() user?: string;
  /** Clients send the default; more than one choice would be billed as one and missed by the client (C-8). */
  @IsOptional() @Equals(1, { message: 'must be 1: a reply has one choice' }) n?: number;
}
