import { Injectable, type PipeTransform } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { PanelError } from '../errors/panel-error.js';

/** Checks an id of a path, and returns it in lower case, as the database writes it. What is no UUID is the id of nothing. */
@Injectable()
export class IdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    if (!isUUID(value, 'loose')) throw new PanelError('not_found', 'There is no such thing: the id is not a UUID.');
    return value.toLowerCase();
  }
}
