-- check_stream(first, last): nil if these entries are those of a stream, else the error to return. Each id is followed by
-- its fields, and the ids rise; the last may be an id without fields, of an entry that was deleted.
local function check_stream(first, last)
  local j, before = first, '0-0'
  while j <= last do  -- at most 1,000: the items of a call
    local id, count = entry_name[j], entry_value[j]
    if not (#id <= 33 and string.find(id, '^%d+%-%d+$')) then return refuse('entry[' .. j .. '].name', id, 'the id of an event') end
    local size = #count <= 4 and string.find(count, '^%d+$') and tonumber(count) or 1000
    local is_last = size == 0 and j == last
    if j + size > last or (size == 0 and not is_last) then
      return refuse('entry[' .. j .. '].value', count, 'the number of entries that follow, which are its fields')
    end
    if not is_above(id, before) and not (is_last and id == before) then
      return refuse('entry[' .. j .. '].name', id, 'above the id before it, ' .. before)
    end
    before = id
    j = j + size + 1
  end
end
