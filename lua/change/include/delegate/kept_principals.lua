-- kept_principals(known, one, chain, via): for whom agents have delegated a request, of the steps of its chain that are in this one, too.
local function kept_principals(known, one, chain, via)
  local function parts(text) return words_of((string.gsub(text, '>', ','))) end  -- an empty one first
  local people, ways, new_people, new_ways = parts(one.chain), parts(one.via), parts(chain), parts(via)
  local kept, last = {}, 0
  for i, principal in ipairs(words_of(known)) do  -- at most 4: delegation_depth
    if not people[i + 1] or people[i + 1] ~= new_people[i + 1] or ways[i + 1] ~= new_ways[i + 1] then break end
    kept[i] = principal
    if principal ~= '' then last = i end
  end
  return table.concat(kept, ',', 1, last)
end
