import { ValidateBy } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';
import { isProxyList, isProxyUrl } from './forward-proxies.js';
import { isNoProxy } from './no-proxy.js';

const EXAMPLE = 'http:// or https:// and a host, such as http://proxy.example.com:3128';

/** Settings of a service that calls servers outside. `NO_PROXY` and the others are read in lower case first. */
export class ForwardProxyConfig extends ServiceConfig {
  /** Forward proxy for `https://`, with or without credentials. */
  @Rule('isProxyUrl', `must be ${EXAMPLE}`, isProxyUrl) httpsProxy = 'none';
  /** Forward proxy for `http://`. */
  @Rule('isProxyUrl', `must be ${EXAMPLE}`, isProxyUrl) httpProxy = 'none';
  /** Destinations that are called directly. */
  @Rule('isNoProxy', 'must be names, addresses and networks such as .internal,10.0.0.0/8, separated by commas', isNoProxy) noProxy = 'none';
}

/** Addresses of forward proxies. */
export function IsProxyList(): PropertyDecorator {
  return Rule('isProxyList', `must be addresses of ${EXAMPLE}, separated by commas`, isProxyList);
}

function Rule(name: string, message: string, holds: (value: unknown) => boolean): PropertyDecorator {
  return ValidateBy({ name, validator: { validate: holds, defaultMessage: () => message } });
}
