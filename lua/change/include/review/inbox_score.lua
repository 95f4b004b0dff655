-- inbox_score(own): the place of its requests in inboxes; see keys.toml.
local function inbox_score(own)
  return string.format('%.0f', (number_of(own, 'risk_score') * 10 + number_of(own, 'weight')) * 4398046511104 + 4398046511103 - own.timeout_at_ms)
end
