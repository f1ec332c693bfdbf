import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { validatePayload } from '#validation/validate-payload.js';

/** Checks a body or query whose parameter has a class of class-validator, as messages between services are checked. */
@Injectable()
export class PayloadPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || metatype === undefined || metatype === Object || metatype === String) return value;
    return validatePayload(metatype as new () => object, value);
  }
}
