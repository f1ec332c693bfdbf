import { shortened } from '#inference/errors.js';
import type { Hints } from '#inference/request.js';
import { invalidField, isAbsent, isObject, type JsonObject, readObject } from '../body-fields/body-fields.js';
import { isEmpty } from './output.js';

/**
 * Returns the hints for reasoning. Servers of open models and their agents know several ways to switch it off; turning it on is the default
 * everywhere. An invalid value is ignored.
 */
export function parseReasoningHints(source: JsonObject): Pick<Hints, 'reasoningEffort' | 'reasoningOff'> {
  const template = parseTemplateArguments(source);
  const router = isObject(source.reasoning) ? source.reasoning : {};
  const effort = [source.reasoning_effort, router.effort, template.reasoning_effort].find(isEffort);
  const switches = [source.enable_thinking, template.enable_thinking, template.thinking, router.enabled];
  const isOff = switches.includes(false) || (isObject(source.thinking) && source.thinking.type === 'disabled');
  return { ...(effort !== undefined && { reasoningEffort: effort }), ...((isOff || effort === 'none') && { reasoningOff: true }) };
}

function isEffort(value: unknown): value is string {
  return typeof value === 'string' && /^[a-z]{1,16}$/.test(value);
}

/** Arguments of a chat template that are read, and those about earlier reasoning, which Tollgate sends where an upstream requires it. */
const TEMPLATE_ARGUMENTS = ['enable_thinking', 'thinking', 'reasoning_effort', 'thinking_budget', 'clear_thinking', 'preserve_thinking'];

/** Arguments that say what happens anyway. */
const TEMPLATE_DEFAULTS: Record<string, unknown> = { add_generation_prompt: true, continue_final_message: false };

/** Returns `chat_template_kwargs`. Throws for any other argument, because it would change the prompt. */
function parseTemplateArguments(source: JsonObject): JsonObject {
  const template = isEmpty(source.chat_template_kwargs) ? {} : readObject(source, 'chat_template_kwargs', '');
  for (const [name, value] of Object.entries(template)) {
    if (isAbsent(value) || TEMPLATE_ARGUMENTS.includes(name)) continue;
    if (Object.hasOwn(TEMPLATE_DEFAULTS, name) && TEMPLATE_DEFAULTS[name] === value) continue;
    const field = `chat_template_kwargs.${shortened(name)}`;
    throw invalidField(field, 'is not supported: of the arguments of a template only those about thinking are');
  }
  return template;
}
