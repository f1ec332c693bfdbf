import { constants, createPrivateKey, sign } from 'node:crypto';
import { noCredential } from './credential.js';

/** RS256 is what Google takes; Microsoft asks for PS256. */
export type JwtAlgorithm = 'RS256' | 'PS256';

/**
 * Returns a signed JWT (RFC 7519). `name` is the file of the key, for errors.
 */
export function signJwt(
  header: { alg: JwtAlgorithm } & Record<string, unknown>,
  claims: Record<string, unknown>,
  key: string,
  name: string,
): string {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${signText(header.alg, text, key, name).toString('base64url')}`;
}

/** Signs the first two parts of a JWT as they are. */
export function signText(algorithm: JwtAlgorithm, text: string, key: string, name: string): Buffer {
  try {
    const privateKey = createPrivateKey(key);
    if (privateKey.asymmetricKeyType !== 'rsa') throw noCredential(`the key in the file ${name} is no RSA key`);
    const padding = algorithm === 'PS256' ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING;
    return sign('sha256', Buffer.from(text), { key: privateKey, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  } catch (cause) {
    if ((cause as Error).name === 'UpstreamFailure') throw cause;
    throw noCredential(`no private key in the file ${name}: it has to be in PEM, without a passphrase`, { cause });
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
