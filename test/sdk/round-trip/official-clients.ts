import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import OpenAI from 'openai';
import { OUTPUT_TOKENS_MAX, runTool, SYSTEM, TOOLS, TURNS } from './conversation.js';

/** Holds the conversation with a model and returns the answers of its turns. */
export type Converse = (model: string) => Promise<string[]>;

/** `runTools`: the helper runs the tools, and its messages go into the next turn. */
export function chatRunTools(client: OpenAI, stream: boolean): Converse {
  const tools = TOOLS.map(({ run, ...tool }) => ({
    type: 'function' as const,
    function: { ...tool, parse: (text: string): object => JSON.parse(text) as object, function: run },
  }));
  return async (model) => {
    const answers: string[] = [];
    let messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: SYSTEM }];
    for (const { user } of TURNS) {
      messages = [...messages, { role: 'user', content: user }];
      const request = { model, messages, tools, max_completion_tokens: OUTPUT_TOKENS_MAX };
      const runner = stream ? client.chat.completions.runTools({ ...request, stream: true }) : client.chat.completions.runTools(request);
      answers.push((await runner.finalContent()) ?? '');
      messages = runner.messages;
    }
    return answers;
  };
}

/** `responses.stream`, or `create`: every output item goes back as input unchanged. */
export function responsesLoop(client: OpenAI, stream: boolean): Converse {
  const tools = TOOLS.map(({ run: _run, ...tool }) => ({ type: 'function' as const, ...tool, strict: false }));
  return async (model) => {
    const answers: string[] = [];
    const input: OpenAI.Responses.ResponseInputItem[] = [];
    const ask = (): Promise<OpenAI.Responses.Response> => {
      const request = { model, instructions: SYSTEM, input, tools, max_output_tokens: OUTPUT_TOKENS_MAX, store: false };
      return stream ? client.responses.stream(request).finalResponse() : client.responses.create(request);
    };
    for (const { user } of TURNS) {
      input.push({ role: 'user', content: user });
      for (let calls = -1; calls !== 0; ) {
        const response = await ask();
        input.push(...(response.output as OpenAI.Responses.ResponseInputItem[]));
        const outputs = response.output.flatMap((item) =>
          item.type === 'function_call'
            ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: runTool(item.name, item.arguments) }]
            : [],
        );
        input.push(...outputs);
        calls = outputs.length;
        if (calls === 0) answers.push(response.output_text);
      }
    }
    return answers;
  };
}

const THINKING = { type: 'enabled' as const, budget_tokens: 1_024 };

/** `messages.stream`, or `create`: the content, thinking included, goes back as the assistant's turn. */
export function messagesLoop(client: Anthropic, stream: boolean): Converse {
  const tools = TOOLS.map(({ run: _run, parameters, ...tool }) => ({ ...tool, input_schema: parameters }));
  return async (model) => {
    const answers: string[] = [];
    const messages: Anthropic.MessageParam[] = [];
    const ask = (): Promise<Anthropic.Message> => {
      const request = { model, system: SYSTEM, messages, tools, max_tokens: OUTPUT_TOKENS_MAX, thinking: THINKING };
      return stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
    };
    for (const { user } of TURNS) {
      messages.push({ role: 'user', content: user });
      for (let reason: string | null = 'tool_use'; reason === 'tool_use'; ) {
        const { content, stop_reason } = await ask();
        messages.push({ role: 'assistant', content });
        const results = content.flatMap((block) =>
          block.type === 'tool_use'
            ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: runTool(block.name, JSON.stringify(block.input)) }]
            : [],
        );
        if (results.length > 0) messages.push({ role: 'user', content: results });
        else answers.push(joinText(content));
        reason = stop_reason;
      }
    }
    return answers;
  };
}

/** `beta.messages.toolRunner`: the helper runs the tools, and its messages go into the next turn. */
export function messagesToolRunner(client: Anthropic, stream: boolean): Converse {
  const tools = TOOLS.map(({ parameters, ...tool }) => betaTool({ ...tool, inputSchema: parameters as never, run: tool.run }));
  return async (model) => {
    const answers: string[] = [];
    let messages: Anthropic.Beta.BetaMessageParam[] = [];
    for (const { user } of TURNS) {
      messages = [...messages, { role: 'user', content: user }];
      const request = { model, system: SYSTEM, messages, tools, max_tokens: OUTPUT_TOKENS_MAX, thinking: THINKING };
      const runner = client.beta.messages.toolRunner({ ...request, stream });
      const { content } = await runner.runUntilDone();
      answers.push(joinText(content));
      messages = [...runner.params.messages];
      if (messages.at(-1)?.role !== 'assistant') messages.push({ role: 'assistant', content });
    }
    return answers;
  };
}

function joinText(content: { type: string; text?: string }[]): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
