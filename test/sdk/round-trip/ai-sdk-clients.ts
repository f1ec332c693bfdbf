import { generateText, isStepCount, jsonSchema, type LanguageModel, type ModelMessage, streamText, tool } from 'ai';
import { OUTPUT_TOKENS_MAX, SYSTEM, TOOLS, TURNS } from './conversation.js';
import type { Converse } from './official-clients.js';

type ProviderOptions = NonNullable<Parameters<typeof generateText>[0]['providerOptions']>;

/** The messages of a result go into the next turn, as in the documentation of the AI SDK. */
export function aiSdk(
  open: (model: string) => LanguageModel,
  stream: boolean,
  options: { providerOptions?: ProviderOptions; maxOutputTokens?: number } = {},
): Converse {
  const tools = Object.fromEntries(
    TOOLS.map(({ name, description, parameters, run }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters as never), execute: (input: unknown) => run(input) }),
    ]),
  );
  return async (model) => {
    const answers: string[] = [];
    const messages: ModelMessage[] = [];
    for (const { user } of TURNS) {
      messages.push({ role: 'user', content: user });
      const settings = { maxOutputTokens: OUTPUT_TOKENS_MAX, maxRetries: 0, ...options };
      const request = { ...settings, model: open(model), instructions: SYSTEM, messages, tools, stopWhen: isStepCount(4) };
      const result = stream ? streamText(request) : await generateText(request);
      answers.push(await result.text);
      messages.push(...(await result.responseMessages));
    }
    return answers;
  };
}
