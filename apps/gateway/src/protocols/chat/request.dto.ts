import { Equals, IsBoolean, IsOptional, IsString } from 'class-validator';
import { NumberBetween, PositiveInteger, RequiredText } from '../body-fields/validate-fields.js';

/** The flat fields of a chat completion request. Messages, tools and other fields of several shapes are parsed by hand (decision 0003). */
export class ChatFields {
  @RequiredText() model!: string;
  @IsOptional() @IsBoolean() stream?: boolean;
  @PositiveInteger() max_tokens?: number;
  @PositiveInteger() max_completion_tokens?: number;
  @NumberBetween(0, 2) temperature?: number;
  @NumberBetween(0, 1) top_p?: number;
  @IsOptional() @IsString() user?: string;
  /** Clients send the default of 1. A client that asks for more choices must not silently get one. */
  @IsOptional() @Equals(1, { message: 'must be 1: a reply has one choice' }) n?: number;
}
