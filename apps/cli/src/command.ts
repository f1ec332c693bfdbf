import type { Endpoint } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';
import { completeIds, type IdParameter } from './complete-ids.js';

/** An option, flag or argument of a command. Its key in the table is its name: `paymentId` is `--payment-id`. */
export interface Parameter<Value> extends IdParameter {
  kind: 'option' | 'flag' | 'argument';
  required: boolean;
  /** Placeholder of the value in the help: `--account <id>`. */
  placeholder: string;
  description: string;
  /** @throws InvalidArgumentError (commander) that names the valid values */
  parse: (text: string) => Value;
}

// biome-ignore lint/suspicious/noExplicitAny: a table of parameters of any types
export type Parameters = Record<string, Parameter<any>>;

export type Values<Table extends Parameters> = { [Name in keyof Table]: Table[Name] extends Parameter<infer Value> ? Value : never };

interface Definition<Table extends Parameters, Request extends object, Reply> {
  /** A group and a verb, such as `account create`, or one word. */
  name: string;
  summary: string;
  parameters: Table;
  /** Arguments after `npm run -s tollgate --`. */
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
  /** Renders the reply as text. With `--json` the reply is printed unchanged. */
  render: (reply: Reply) => string;
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

export function command<Table extends Parameters, Request extends object, Reply>(
  definition: Definition<Table, Request, Reply>,
): CliCommand {
  const { endpoint, request, prepare, render, timeoutMs, isFailure, ...rest } = definition;
  return {
    ...rest,
    async run(values, json, connect) {
      const checked = await request(values as Values<Table>);
      const messaging = await connect();
      const complete = await completeIds(rest.parameters, values, messaging);
      const asked = complete === values ? checked : await request(complete as Values<Table>);
      const payload = prepare ? await prepare(asked, complete as Values<Table>, messaging) : asked;
      const reply = await messaging.request(endpoint, payload, timeoutMs === undefined ? undefined : { timeoutMs });
      return { text: json ? JSON.stringify(reply, null, 2) : render(reply), failed: isFailure?.(reply) ?? false };
    },
  };
}
