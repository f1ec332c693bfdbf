import type { Tool } from '#inference/tool.js';
import { isObject } from '../body-fields/body-fields.js';

const PLACEHOLDER = /deferred_?(?:tool_?)?placeholder/i;

/**
 * True for a tool that agents declare to hold the place of tools that they load later, and that the model must never call. All of its
 * marks are required: other deferred tools, also those without arguments, stay visible, because agents rely on calls of them.
 */
export function isPlaceholder({ key, parameters }: Tool, deferLoading: unknown): boolean {
  const properties = parameters?.properties;
  return deferLoading === true && PLACEHOLDER.test(key.name) && !(isObject(properties) && Object.keys(properties).length > 0);
}
