-- older_via(own, slot, chain): the delegations of a request whose change was last written by version 0.2.0: only its record has them.
local function older_via(own, slot, chain)
  local via = string.gsub(redis.call('HGET', requests .. own.id .. '/' .. slot, 'via') or '', ',', '>')
  local missing = select(2, string.gsub(chain, '>', '')) - select(2, string.gsub(via, '>', ''))
  return via .. string.rep('>', missing)
end
