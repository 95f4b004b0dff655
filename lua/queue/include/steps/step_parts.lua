-- step_parts(entry): the parts of an entry of `steps:<id>`; nil if there is none.
local function step_parts(entry)
  local place, kind, at_ms, fence, from = string.match(entry or '', '^(%d+) (%l+) (%d+) (%d+)\n()')
  if not place then return nil end
  return {
    place = tonumber(place), kind = kind, at_ms = tonumber(at_ms), fence = tonumber(fence), value = string.sub(entry, from),
  }
end
