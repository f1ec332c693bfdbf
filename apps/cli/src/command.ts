import type { Endpoint } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';
import { completeIds } from './complete-ids.js';
import { accountId, optional, type Parameter } from './parameters.js';

// biome-ignore lint/suspicious/noExplicitAny: a table of parameters of any types
export type Parameters = Record<string, Parameter<any>>;

export type Values<Table extends Parameters> = { [Name in keyof Table]: Table[Name] extends Parameter<infer Value> ? Value : never };

interface Definition<Table extends Parameters, Request extends object, Reply, Extra> {
  /** A group and a verb, such as `account create`, or one word. */
  name: string;
  summary: string;
  parameters: Table;
  /** Arguments after `tollgate`. */
  examples: readonly string[];
  endpoint: Endpoint<Request, Reply>;
  /**
   * Called with the complete ids, and before with the ids as typed, so that a wrong command line sends nothing.
   *
   * @throws UsageError when the values contradict each other
   */
  request: (values: Values<Table>) => Request | Promise<Request>;
  /** Adds to the request what another service has to answer first. */
  prepare?: (request: Request, values: Values<Table>, messaging: Messaging) => Promise<Request>;
  /** Reads what the text has beside the reply, such as names. Not called with `--json`. */
  lookUp?: (reply: Reply, messaging: Messaging, request: Request) => Promise<Extra>;
  /** Renders the reply as text. With `--json` the reply is printed unchanged. */
  render: (reply: Reply, extra: Extra, request: Request) => string;
  /** Timeout of the answer. Default: that of the connection. */
  timeoutMs?: number;
  /** True when the reply reports a failure: it is printed, and the exit code is 1. */
  isFailure?: (reply: Reply) => boolean;
}

interface CommandResult {
  text: string;
  failed: boolean;
}

/** A command, without the types of its request and reply. */
export interface CliCommand {
  name: string;
  summary: string;
  parameters: Parameters;
  examples: readonly string[];
  /**
   * Checks all values and reads local files before it calls `connect`. A long command writes its progress with `write`, in whole lines,
   * except with `json`.
   */
  run(
    values: Record<string, unknown>,
    json: boolean,
    connect: () => Promise<Messaging>,
    write: (text: string) => void,
  ): Promise<CommandResult>;
}

export function command<Table extends Parameters, Request extends object, Reply, Extra = undefined>(
  definition: Definition<Table, Request, Reply, Extra>,
): CliCommand {
  const { endpoint, request, prepare, lookUp, render, timeoutMs, isFailure, ...rest } = definition;
  const parameters = withAccount(rest.parameters);
  /** The values without that of the added option. */
  const own = (values: Record<string, unknown>): Values<Table> =>
    Object.fromEntries(Object.entries(values).filter(([name]) => name in rest.parameters)) as Values<Table>;
  return {
    ...rest,
    parameters,
    async run(values, json, connect) {
      const checked = await request(own(values));
      const messaging = await connect();
      const complete = await completeIds(parameters, values, messaging);
      const asked = complete === values ? checked : await request(own(complete));
      const payload = prepare ? await prepare(asked, own(complete), messaging) : asked;
      const reply = await messaging.request(endpoint, payload, timeoutMs === undefined ? undefined : { timeoutMs });
      const failed = isFailure?.(reply) ?? false;
      if (json) return { text: JSON.stringify(reply, null, 2), failed };
      const extra = (await lookUp?.(reply, messaging, payload)) as Extra;
      return { text: render(reply, extra, payload), failed };
    },
  };
}

/** Adds the option `--account` to a command that takes a project or a key by its name, which several accounts may have. */
function withAccount(parameters: Parameters): Parameters {
  const resources = Object.values(parameters).map(({ resource }) => resource);
  const isNamed = resources.includes('project') || resources.includes('key');
  if (!isNamed || resources.includes('account')) return parameters;
  return { ...parameters, account: optional(accountId, 'name or id of the account, where several have one of this name') };
}
