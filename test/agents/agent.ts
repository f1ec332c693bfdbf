/** A client format, as `docs/protocols.md` names it. */
export type Format = 'chat' | 'responses' | 'messages';

export const PATHS: Record<Format, string> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};

/** Addresses and folders of one test, and the model that the agent is configured for. */
export interface AgentSetup {
  format: Format;
  /** Address of the gateway, without `/v1`. */
  gatewayUrl: string;
  apiKey: string;
  model: string;
  /** Limits of the model in the agent's configuration. */
  contextTokens: number;
  outputTokens: number;
  /** Working folder of the agent, as an absolute path. */
  workspace: string;
}

/** One invocation of the agent's program. */
interface Invocation {
  args: string[];
  /** Standard input; empty if the agent takes the prompt as an argument. */
  input?: string;
}

/**
 * A coding agent of npm as its page in `docs/use-with` configures it. `testAgent` runs the same tests with each.
 */
export interface Agent {
  name: string;
  package: string;
  version: string;
  /** Name of its command in `node_modules/.bin`. */
  command: string;
  formats: readonly Format[];
  /** Environment variables, and files by their path below the home folder. */
  configure(setup: AgentSetup): { files?: Record<string, string>; env?: Record<string, string> };
  /** A run without a terminal that may use tools. With `continues`, the last session of this home and workspace goes on. */
  invoke(prompt: string, setup: AgentSetup, continues: boolean): Invocation;
  /** Calls of its tools, in the words of the simulator: `call <tool> {json}`. */
  callToRead(path: string): string;
  callToWrite(path: string, text: string, format: Format): string;
  onOverflow: Overflow | ((format: Format) => Overflow);
  /** True for an agent whose loops of many turns must read their prompts from the cache of every kind of upstream. */
  keepsPrompts?: boolean;
}

/**
 * End of a conversation that outgrows the model's context, by the agent's own rules. `compacts`: it has a part of the conversation
 * summarised, and goes on. `compacts-in-run`: the same for an agent that continues a session only in a terminal, so that one run has to
 * outgrow the context. `compacts-whole`: it sends the whole conversation for a summary, so that goes on only where this still fits.
 * `stopsWith`: the error that it shows.
 */
type Overflow = 'compacts' | 'compacts-in-run' | 'compacts-whole' | { stopsWith: RegExp };
