import { expect, test } from 'vitest'

import { auditText } from './audit'
import type { AuditResult } from './protocol'

const EMPTY: AuditResult = {
  root: '/r',
  total_found: 0,
  returned: 0,
  truncated: false,
  completeness: { complete: true, reasons: [], skipped: {}, timed_out: false },
  warnings: [],
  requests: [],
  today: { requests: 0, tokens: 0, cost_usd: 0 },
}

test('the audit text lists requests, masked secrets and the daily limit', () => {
  const text = auditText({
    ...EMPTY,
    requests: [
      {
        time: '2026-01-01T00:00:00Z',
        model: 'small',
        destination: 'https://a.example',
        remote: true,
        files: ['src/a.py'],
        bytes: 5421,
        redactions: { password: 1 },
        outcome: 'broken_off',
        tokens: 1807,
      },
    ],
    today: { requests: 1, tokens: 1807, cost_usd: 0.0021, daily_tokens: 20000 },
    log: '/state/winnow',
  })
  expect(text.split('\n')).toEqual([
    'Sent to other machines since midnight UTC: 1 request, 1,807 of 20,000 tokens, $0.0021',
    'Log: /state/winnow',
    '',
    '2026-01-01T00:00:00Z  small at https://a.example: 5,421 bytes, 1,807 tokens, broken off',
    '    masked: 1 × password',
    '    src/a.py',
    '',
  ])
  expect(auditText(EMPTY)).toContain('Nothing has been sent to a language model yet.')
})
