import { headerNameFault, isPlainText, isSecretSource, type SecretSource } from './upstream-request.js';
import { isBaseUrl, SECRET_FILE_NAME } from './upstream-rules.js';

/**
 * The proof of who the inference-proxy is, for an upstream where a fixed key in the header of the dialect is not enough. It has places of
 * secrets, and never a secret.
 */
export type UpstreamAuth = HeaderAuth | FileAuth | CommandAuth | OauthAuth | GoogleAuth | AwsAuth | AzureAuth;

/** A fixed key in a header of any name, after the word `scheme` if there is one. */
interface HeaderAuth {
  kind: 'header';
  name: string;
  secret: SecretSource;
  scheme?: string;
}

/** The token in a file that something else renews, such as the kubelet. Read again at each change. */
interface FileAuth {
  kind: 'file';
  file: string;
}

/** The token that a program prints. The variable has its command line. */
export interface CommandAuth {
  kind: 'command';
  command: string;
}

/** OAuth 2.0, client credentials (RFC 6749, section 4.4). */
export interface OauthAuth {
  kind: 'oauth';
  tokenUrl: string;
  clientId: string;
  clientSecret: SecretSource;
  scope?: string;
  audience?: string;
  /** Where the client names itself. Default `basic`: in the header `authorization`. */
  clientAuth?: 'basic' | 'body';
}

/** `file`: the JSON file of a service account, or the configuration of a workload identity with the place of its token. */
export type GoogleAuth = { scope?: string } & (
  | { kind: 'google-service-account'; file: string }
  | { kind: 'google-workload-identity'; file: string }
  | { kind: 'google-metadata' }
);

/** Signature Version 4. */
export type AwsAuth = { region: string; service?: string } & (
  | { kind: 'aws-keys'; accessKeyId: SecretSource; secretAccessKey: SecretSource; sessionToken?: SecretSource }
  | { kind: 'aws-profile'; file: string; profile?: string }
  | { kind: 'aws-web-identity'; roleArn: string; file: string; tokenUrl?: string }
  | { kind: 'aws-container' }
);

/** Entra ID. `file`: certificate with its key in PEM, or the token of the workload. */
export type AzureAuth = { scope?: string } & (
  | ({ kind: 'azure-client-secret'; clientSecret: SecretSource } & EntraApplication)
  | ({ kind: 'azure-certificate'; file: string } & EntraApplication)
  | ({ kind: 'azure-workload-identity'; file: string } & EntraApplication)
  | { kind: 'azure-managed-identity'; clientId?: string }
);

export interface EntraApplication {
  tenantId: string;
  clientId: string;
  /** Default: that of the public cloud for the tenant. */
  tokenUrl?: string;
}

type AuthKind = UpstreamAuth['kind'];

/** Returns what is wrong with `auth` of an upstream, without values that may be a pasted secret. */
export function authFault(auth: unknown): string | undefined {
  if (typeof auth !== 'object' || auth === null || Array.isArray(auth)) return `must be a group with a kind: ${AUTH_KINDS.join(', ')}`;
  const { kind, ...given } = auth as Record<string, unknown>;
  if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) return `must have a kind: ${AUTH_KINDS.join(', ')}`;
  const fields: Fields = KINDS[kind as AuthKind];
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) return `has a field that ${kind} has not; its fields are ${Object.keys(fields).join(', ')}`;
  }
  for (const [name, { isOptional, rule, holds }] of Object.entries(fields)) {
    const value = given[name];
    if (value === undefined && isOptional) continue;
    if (value === undefined) return `must have ${name} for ${kind}: ${rule}`;
    if (!holds(value)) return `must have ${rule} in ${name}`;
  }
  return undefined;
}

interface Rule {
  isOptional?: boolean;
  /** Completes "must have … in <field>". */
  rule: string;
  holds(value: unknown): boolean;
}

type Fields = Readonly<Record<string, Rule>>;

/** Variables of the inference-proxy with command lines begin with it. */
const COMMAND_VARIABLE = /^UPSTREAM_COMMAND_(?![A-Z0-9_]*_HOSTS$)[A-Z0-9_]{1,100}$/;

const TEXT: Rule = { rule: 'text of 1 to 1,000 visible characters', holds: isPlainText };
const SECRET: Rule = {
  rule: '{ env: UPSTREAM_KEY_… } or { file: … } (never the secret itself)',
  holds: isSecretSource,
};
const FILE: Rule = {
  rule: 'the name of a file in UPSTREAM_SECRETS_DIR (never the secret itself)',
  holds: (value) => typeof value === 'string' && value.length <= 256 && SECRET_FILE_NAME.test(value),
};
const URL_RULE: Rule = { rule: 'an http:// or https:// URL without credentials, query or fragment', holds: isBaseUrl };
const matching = (rule: string, pattern: RegExp): Rule => ({ rule, holds: (value) => typeof value === 'string' && pattern.test(value) });
const optional = (rule: Rule): Rule => ({ ...rule, isOptional: true });

const SCOPE = { scope: optional(TEXT) };
const AWS = {
  region: matching('a region such as us-east-1', /^[a-z]{2,4}(-[a-z]{1,10}){1,3}-\d{1,2}$/),
  service: optional(matching('the name of a service such as bedrock', /^[a-z][a-z0-9-]{1,62}$/)),
};
const ENTRA = {
  // It becomes a part of the URL that gets the secret.
  tenantId: matching('the id or the domain of a tenant', /^[A-Za-z0-9][A-Za-z0-9.-]{0,253}$/),
  clientId: TEXT,
  tokenUrl: optional(URL_RULE),
  ...SCOPE,
};

const KINDS: Readonly<Record<AuthKind, Fields>> = {
  header: {
    name: { rule: 'the name of a header that Tollgate does not set', holds: (value) => headerNameFault(value, true) === undefined },
    secret: SECRET,
    scheme: optional(matching('a word such as Bearer', /^[A-Za-z][A-Za-z0-9-]{0,30}$/)),
  },
  file: { file: FILE },
  command: {
    command: matching('the name of a variable such as UPSTREAM_COMMAND_LOGIN (never a command itself)', COMMAND_VARIABLE),
  },
  oauth: {
    tokenUrl: URL_RULE,
    clientId: TEXT,
    clientSecret: SECRET,
    scope: optional(TEXT),
    audience: optional(TEXT),
    clientAuth: optional(matching('basic or body', /^(basic|body)$/)),
  },
  'google-service-account': { file: FILE, ...SCOPE },
  'google-workload-identity': { file: FILE, ...SCOPE },
  'google-metadata': SCOPE,
  'aws-keys': { ...AWS, accessKeyId: SECRET, secretAccessKey: SECRET, sessionToken: optional(SECRET) },
  'aws-profile': { ...AWS, file: FILE, profile: optional(TEXT) },
  'aws-web-identity': {
    ...AWS,
    roleArn: matching('the ARN of a role', /^arn:[a-z0-9-]{1,20}:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/),
    file: FILE,
    tokenUrl: optional(URL_RULE),
  },
  'aws-container': AWS,
  'azure-client-secret': { ...ENTRA, clientSecret: SECRET },
  'azure-certificate': { ...ENTRA, file: FILE },
  'azure-workload-identity': { ...ENTRA, file: FILE },
  'azure-managed-identity': { clientId: optional(TEXT), ...SCOPE },
};

const AUTH_KINDS = Object.keys(KINDS) as AuthKind[];
