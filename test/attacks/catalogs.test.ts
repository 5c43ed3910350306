import { CATALOGS } from './catalogs.js';
import { playAttacks } from './runner.js';

playAttacks('catalogs', CATALOGS);
