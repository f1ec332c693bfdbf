import { readSecret } from '#config/load-config.js';
import { SecretFile } from '#config/secret-file.js';

/**
 * A secret of an upstream: the value of a variable, the content of a file in the folder of secrets, or the tokens of a service of the machine
 * itself.
 */
export type SecretPlace = { variable: string } | { file: string } | { service: MachineService };

/** Services that give tokens of the machine to all that runs there. The operator allows each by its variable of hosts. */
type MachineService = 'GOOGLE' | 'AWS' | 'AZURE';

/** Files by name. As many as catalogs have named since the start. */
const FILES = new Map<string, SecretFile>();

/** Parsed declarations by the name of their variable or file. */
const DECLARED = new Map<string, { text: string; hosts: (HostPattern | undefined)[] }>();

/**
 * Returns why a secret must not be sent to the host of `url`; undefined when it may. The owner of a secret declares its hosts beside it:
 * `UPSTREAM_KEY_A_HOSTS` beside the variable `UPSTREAM_KEY_A`, the file `a.hosts` beside the file `a`. The catalog cannot, so a person who
 * may change the catalog cannot have a secret sent to a server of their own.
 */
export function whyNotSentTo(url: string, secret: SecretPlace): string | undefined {
  const { where, text, remedy } = readDeclaration(secret);
  const target = new URL(url);
  const host = renderHost(target);
  if (!text?.trim()) return `${describeSecret(secret)} is bound to no host: ${remedy(host)} if that host may receive it`;
  const hosts = parseDeclaration(where, text);
  if (hosts.some((pattern) => pattern !== undefined && matches(pattern, target))) return undefined;
  const fault = hosts.indexOf(undefined);
  if (fault !== -1) return `entry ${fault + 1} of ${where} is no host such as ${EXAMPLES}`;
  return `${describeSecret(secret)} is not for ${host}: ${where} does not name it`;
}

const EXAMPLES = 'api.example.com, *.example.org:8443 or http://127.0.0.1:8000';

export function describeSecret(secret: SecretPlace): string {
  if ('service' in secret) return `the metadata service of ${secret.service}`;
  return 'file' in secret ? `the secret in the file ${secret.file}` : `the key in ${secret.variable}`;
}

/** Returns the one reader of a file, so that all of its users share one read. */
export function secretFile(name: string): SecretFile {
  const file = FILES.get(name) ?? new SecretFile(name);
  FILES.set(name, file);
  return file;
}

interface Declaration {
  where: string;
  text: string | undefined;
  /** Tells where to declare a host. */
  remedy: (host: string) => string;
}

function readDeclaration(secret: SecretPlace): Declaration {
  if ('file' in secret) {
    const name = `${secret.file}.hosts`;
    return {
      where: `the file ${name}`,
      text: secretFile(name).read()?.toString(),
      remedy: (host) => `write ${host} into ${name} beside it`,
    };
  }
  const name = 'service' in secret ? `UPSTREAM_METADATA_${secret.service}_HOSTS` : `${secret.variable}_HOSTS`;
  return { where: name, text: readSecret(name), remedy: (host) => `set ${name}=${host} for the inference-proxy` };
}

/** A host in a declaration. `isSuffix`: any name that ends with a dot and the host. */
interface HostPattern {
  protocol: string;
  hostname: string;
  port: string;
  isSuffix: boolean;
}

/** Returns the hosts, separated by commas, spaces or line breaks; undefined for an entry that is none. */
function parseDeclaration(where: string, text: string): (HostPattern | undefined)[] {
  const known = DECLARED.get(where);
  if (known?.text === text) return known.hosts;
  const hosts = text
    .trim()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map(parseHost);
  DECLARED.set(where, { text, hosts });
  return hosts;
}

/** Without `http://` the connection must be TLS, so that a catalog cannot have a secret sent in the clear. */
function parseHost(entry: string): HostPattern | undefined {
  const [, scheme = 'https://', suffix, host] = /^(https?:\/\/)?(\*\.)?([^/?#@*\\]+)$/.exec(entry) ?? [];
  if (host === undefined || !URL.canParse(scheme + host)) return undefined;
  const { protocol, hostname, port } = new URL(scheme + host);
  if (suffix !== undefined && !/^[^.[]+(\.[^.]+)+$/.test(hostname)) return undefined; // *.com
  return { protocol, hostname, port, isSuffix: suffix !== undefined };
}

function matches({ protocol, hostname, port, isSuffix }: HostPattern, target: URL): boolean {
  if (protocol !== target.protocol || port !== target.port) return false;
  return isSuffix ? target.hostname.endsWith(`.${hostname}`) : target.hostname === hostname;
}

/** Returns the host of a URL in the form of a declaration. */
function renderHost({ protocol, host }: URL): string {
  return protocol === 'https:' ? host : `${protocol}//${host}`;
}
