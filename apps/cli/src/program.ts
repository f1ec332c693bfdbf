import { Argument, Command, Option } from 'commander';
import type { CliCommand, Parameter } from './command.js';

export interface ProgramOutput {
  writeOut(text: string): void;
  writeErr(text: string): void;
}

export type Runner = (command: CliCommand, values: Record<string, unknown>, json: boolean) => Promise<void>;

/**
 * The command line as commander sees it, made from the table. It writes help and its own complaints (one line each) to
 * `output`, throws `CommanderError` instead of ending the process, and hands a well-formed command to `run`.
 */
export function buildProgram(
  commands: readonly CliCommand[],
  groups: Readonly<Record<string, string>>,
  output: ProgramOutput,
  run: Runner,
): Command {
  const program = new Command('tollgate')
    .description('Administer Tollgate over NATS: accounts, projects, keys, money and the catalog.')
    .exitOverride()
    .configureOutput({ ...output, outputError: (text, write) => write(`${text.trim().replace(/\s*\n\s*/g, ' ')}\n`) })
    .helpCommand(false)
    .addHelpText('after', "\nRun 'tollgate <command> --help' for a command's options and examples.");
  const groupCommands = new Map<string, Command>();
  for (const command of commands) {
    const [first, verb] = command.name.split(' ') as [string, string?];
    if (verb === undefined) {
      addCommand(program, first, command, run);
      continue;
    }
    const group = groupCommands.get(first) ?? program.command(first).description(groups[first] ?? '');
    groupCommands.set(first, group);
    addCommand(group, verb, command, run);
  }
  return program;
}

function addCommand(parent: Command, word: string, command: CliCommand, run: Runner): void {
  const leaf = parent.command(word).description(command.summary);
  const argumentNames: string[] = [];
  for (const [name, parameter] of Object.entries(command.parameters)) {
    if (parameter.kind === 'argument') {
      argumentNames.push(name);
      leaf.addArgument(new Argument(`<${kebab(name)}>`, parameter.description).argParser(parameter.parse));
    } else {
      leaf.addOption(optionOf(name, parameter));
    }
  }
  leaf.option('--json', 'print one JSON document');
  leaf.addHelpText('after', `\nExamples:\n${command.examples.map((example) => `  tollgate ${example}`).join('\n')}`);
  leaf.action(async (...args: unknown[]) => {
    const { json, ...options } = args[argumentNames.length] as Record<string, unknown>;
    const positional = Object.fromEntries(argumentNames.map((name, index) => [name, args[index]]));
    await run(command, { ...options, ...positional }, json === true);
  });
}

function optionOf(name: string, { kind, placeholder, description, required, parse }: Parameter<unknown>): Option {
  if (kind === 'flag') return new Option(`--${kebab(name)}`, description);
  return new Option(`--${kebab(name)} <${placeholder}>`, description).argParser(parse).makeOptionMandatory(required);
}

function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}
