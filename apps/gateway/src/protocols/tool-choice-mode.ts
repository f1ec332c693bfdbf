import { invalidField } from './body-fields.js';

export type ToolChoiceMode = 'none' | 'auto' | 'required';

/** A tool choice that names no tool, in the words that chat and responses share (spec 4.3, 4.4). */
export function parseToolChoiceMode(mode: string, param: string): ToolChoiceMode {
  if (mode === 'none' || mode === 'auto' || mode === 'required') return mode;
  throw invalidField(param, 'must be one of none, auto, required');
}
