import type { CliCommand } from './command.js';
import { kebab, type Parameter } from './parameters.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A word of the command line: a group or a command. */
interface Place {
  /** Words so far: `account create`. Empty at the start. */
  path: string;
  description: string;
  /** Words that may follow. */
  next: Place[];
  command: CliCommand | undefined;
}

/** Renders the script with which a shell completes commands, options and fixed values. It is made of the table of the commands. */
export function renderCompletion(shell: Shell, commands: readonly CliCommand[], groups: Readonly<Record<string, string>>): string {
  const places = listPlaces(commands, groups);
  switch (shell) {
    case 'bash':
      return renderBash(places);
    case 'zsh':
      return `autoload -Uz compinit bashcompinit\n(( $+functions[compdef] )) || compinit\nbashcompinit\n${renderBash(places)}`;
    case 'fish':
      return renderFish(places);
  }
}

function listPlaces(commands: readonly CliCommand[], groups: Readonly<Record<string, string>>): Place[] {
  const places = new Map<string, Place>([['', { path: '', description: '', next: [], command: undefined }]]);
  for (const command of commands) {
    const words = command.name.split(' ');
    for (let count = 1; count <= words.length; count++) {
      const path = words.slice(0, count).join(' ');
      if (places.has(path)) continue;
      const isCommand = count === words.length;
      const place: Place = { path, description: isCommand ? command.summary : (groups[path] ?? ''), next: [], command: undefined };
      places.set(path, place);
      places.get(words.slice(0, count - 1).join(' '))?.next.push(place);
    }
    (places.get(command.name) as Place).command = command;
  }
  return [...places.values()];
}

const lastWord = ({ path }: Place): string => path.split(' ').at(-1) ?? path;

function listOptions({ command }: Place): [name: string, parameter: Parameter<unknown>][] {
  const parameters: [string, Parameter<unknown>][] = Object.entries(command?.parameters ?? {});
  return parameters.filter(([, { kind }]) => kind !== 'argument');
}

function findArgument({ command }: Place): Parameter<unknown> | undefined {
  return Object.values(command?.parameters ?? {}).find(({ kind }) => kind === 'argument');
}

/** Names of variables are none of zsh's own, such as `path` and `words`: zsh runs the script too. */
function renderBash(places: readonly Place[]): string {
  const known = places.flatMap(({ path }) => (path === '' ? [] : [quote(path)]));
  const values = places.flatMap((place) =>
    listOptions(place).flatMap(([name, { kind, choices }]) =>
      kind === 'flag' ? [] : [`    ${quote(`${place.path} --${kebab(name)}`)}) offered=${quote((choices ?? []).join(' '))} ;;`],
    ),
  );
  const next = places.map((place) => `      ${quote(place.path)}) offered=${quote(wordsAt(place).join(' '))} ;;`);
  const options = places.map((place) => {
    const names = listOptions(place).map(([name]) => `--${kebab(name)}`);
    return `      ${quote(place.path)}) offered=${quote([...names, ...(place.command ? ['--json'] : []), '--help'].join(' '))} ;;`;
  });
  return `_tollgate() {
  local typed=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} place= longer= offered= i
  if [[ $typed == '=' ]]; then typed=; elif [[ $before == '=' ]]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for (( i = 1; i < COMP_CWORD; i++ )); do
    longer="\${place:+$place }\${COMP_WORDS[i]}"
    case "$longer" in
      ${known.join('|')}) place=$longer ;;
      *) break ;;
    esac
  done
  case "$place $before" in
${values.join('\n')}
    *) if [[ $typed == -* ]]; then case "$place" in
${options.join('\n')}
    esac; else case "$place" in
${next.join('\n')}
    esac; fi ;;
  esac
  COMPREPLY=( $(compgen -W "$offered" -- "$typed") )
}
complete -o default -F _tollgate tollgate
`;
}

/** Words that may follow, other than options. */
function wordsAt(place: Place): readonly string[] {
  return place.next.length > 0 ? place.next.map(lastWord) : (findArgument(place)?.choices ?? []);
}

function renderFish(places: readonly Place[]): string {
  const lines = places.flatMap((place) => {
    const at = `complete -c tollgate -n ${quote(`__tollgate_at ${place.path}`.trim())}`;
    const below = `complete -c tollgate -n ${quote(`__tollgate_below ${place.path}`.trim())}`;
    const words = place.next.map((one) => `${at} -a ${quote(lastWord(one))} -d ${quote(one.description)}`);
    const options = listOptions(place).map(([name, { kind, choices, description }]) => {
      const value = kind === 'flag' ? '' : choices ? ` -x -a ${quote(choices.join(' '))}` : ' -r';
      return `${below} -l ${kebab(name)}${value} -d ${quote(description)}`;
    });
    const argument = findArgument(place);
    const files = argument?.choices ? [`${at} -a ${quote(argument.choices.join(' '))}`] : argument ? [`${below} -F`] : [];
    return [...words, ...options, ...(place.command ? [`${below} -l json -d 'print one JSON document'`] : []), ...files];
  });
  return `function __tollgate_words
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and break
    echo $word
  end
end
function __tollgate_at
  test (string join ' ' (__tollgate_words)) = (string join ' ' $argv)
end
function __tollgate_below
  string match -q -- (string join ' ' $argv)' *' (string join ' ' (__tollgate_words))' '
end
complete -c tollgate -f
complete -c tollgate -l help -d 'display help for command'
${lines.join('\n')}
`;
}

/** Quotes a text for a shell. Bash and fish differ in how a quote stands within quotes, and descriptions have none but this one. */
function quote(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
