import type { ToolCallPart } from '#inference/turn.js';
import { replaceEscapedHalves } from '#inference/whole-characters.js';

/** Returns the arguments of an earlier call as text, for dialects that parse it: `{}` for none, and whole characters only. */
export function parseArguments({ argumentsText }: ToolCallPart): string {
  return replaceEscapedHalves(argumentsText) || '{}';
}
