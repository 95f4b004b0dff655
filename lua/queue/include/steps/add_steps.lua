-- add_steps(record, id, durable): add the steps of a leased task to its record, a flat list, as the pair `steps`: for each
-- step `<name> <kind> <at_ms> <fence> <length>`, a line feed, and that many bytes. If they have more than 64 KiB, they are
-- left out, and the worker reads them with `steps`. durable: the field of the record.
local function add_steps(record, id, durable)
  if tonumber(string.match(durable, '^%d+ (%d+)$')) > 65536 then return end
  local names, parts = steps_in_order(id)
  local texts = {}
  for i, name in ipairs(names) do
    local one = parts[i]
    texts[i] = string.format('%s %s %.0f %.0f %d\n', name, one.kind, one.at_ms, one.fence, #one.value) .. one.value
  end
  record[#record + 1] = 'steps'
  record[#record + 1] = table.concat(texts)
end
