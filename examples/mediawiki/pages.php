<?php
// Makes up a wiki: pages with the sizes of a real one (median 4 kB of wikitext, 95% below 40 kB),
// with links, templates and tables. The same seed makes the same pages.
//
//     php pages.php make FOLDER [PAGES [SEED]]   FOLDER/pages.xml, and the lists of `urls`
//     php pages.php urls FILE.xml FOLDER         lists of the pages of any XML dump
//
// The lists are of paths, one a line: pages.txt of all, small.txt of those below 4 kB of wikitext,
// large.txt of those from 24 kB on.

const MEDIAN = 4096;
const P95 = 40960;
// What no page is longer than: a page of megabytes is parsed for seconds, and is none of a thousand.
const LONGEST = 131072;
const SMALL = 4096;
const LARGE = 24576;

/** Uniform numbers, by the generator Mersenne Twister of PHP. */
function below( int $most ): int {
    return mt_rand( 0, $most - 1 );
}

/** The quantile of the normal distribution, by Newton's method on an approximation of its integral. */
function normal( float $share ): float {
    $z = 0.0;
    for ( $step = 0; $step < 60; $step++ ) {
        $sum = $term = $z;
        for ( $k = 1; $k < 200; $k++ ) {
            $term *= $z * $z / ( 2 * $k + 1 );
            $sum += $term;
        }
        $density = exp( -$z * $z / 2 ) / sqrt( 2 * M_PI );
        $z -= max( -0.5, min( 0.5, ( 0.5 + $density * $sum - $share ) / $density ) );
    }
    return $z;
}

/** The lengths of pages: quantiles of a lognormal distribution, in a random order. */
function lengths( int $pages ): array {
    $sigma = log( P95 / MEDIAN ) / normal( 0.95 );
    $lengths = [];
    for ( $page = 0; $page < $pages; $page++ ) {
        $length = MEDIAN * exp( $sigma * normal( ( $page + 0.5 ) / $pages ) );
        $lengths[] = (int)max( 200, min( LONGEST, $length ) );
    }
    for ( $at = $pages - 1; $at > 0; $at-- ) {
        $other = below( $at + 1 );
        [ $lengths[$at], $lengths[$other] ] = [ $lengths[$other], $lengths[$at] ];
    }
    return $lengths;
}

/** Words of two to four syllables. */
function words( int $count ): array {
    $syllables = [];
    foreach ( str_split( 'bdfgklmnprstvz' ) as $begin ) {
        foreach ( [ 'a', 'e', 'i', 'o', 'u', 'an', 'er', 'in', 'os' ] as $end ) {
            $syllables[] = $begin . $end;
        }
    }
    $words = [];
    while ( count( $words ) < $count ) {
        $word = '';
        for ( $left = 2 + below( 3 ); $left > 0; $left-- ) {
            $word .= $syllables[below( count( $syllables ) )];
        }
        $words[$word] = true;
    }
    return array_keys( $words );
}

/** A page of about so many bytes of wikitext. */
class Page {
    private string $text = '';

    public function __construct(
        private array $words, private array $titles, private int $number, private int $length
    ) {
    }

    private function word(): string {
        // Few words are frequent, many are rare.
        $most = count( $this->words );
        return $this->words[below( below( below( $most ) + 1 ) + 1 )];
    }

    private function some( int $count ): string {
        $some = [];
        while ( $count-- > 0 ) {
            $some[] = $this->word();
        }
        return implode( ' ', $some );
    }

    private function link(): string {
        $title = $this->titles[below( count( $this->titles ) )];
        return below( 3 ) ? "[[$title]]" : "[[$title|{$this->word()}]]";
    }

    private function sentence(): string {
        $parts = [ ucfirst( $this->some( 4 + below( 8 ) ) ) ];
        below( 2 ) || $parts[] = $this->link();
        below( 6 ) || $parts[] = "'''{$this->word()}'''";
        below( 8 ) || $parts[] = "''{$this->some( 2 )}''";
        $parts[] = $this->some( 2 + below( 5 ) );
        $note = below( 12 ) ? '' : "{{Cite|{$this->some( 3 )}|" . ( 1900 + below( 120 ) ) . '}}';
        return implode( ' ', $parts ) . ".$note";
    }

    private function paragraph(): string {
        $sentences = [];
        for ( $left = 3 + below( 5 ); $left > 0; $left-- ) {
            $sentences[] = $this->sentence();
        }
        return implode( ' ', $sentences ) . "\n\n";
    }

    private function table(): string {
        $text = "{| class=\"wikitable\"\n|+ {$this->some( 3 )}\n! name !! place !! number\n";
        for ( $left = 4 + below( 12 ); $left > 0; $left-- ) {
            $text .= "|-\n| {$this->link()} || {$this->some( 2 )} || " . below( 10000 ) . "\n";
        }
        return "$text|}\n\n";
    }

    private function bullets(): string {
        $text = '';
        for ( $left = 3 + below( 8 ); $left > 0; $left-- ) {
            $text .= "* {$this->link()}: {$this->some( 5 )}\n";
        }
        return "$text\n";
    }

    private function section( int $level ): string {
        $marks = str_repeat( '=', $level );
        $text = "$marks " . ucfirst( $this->some( 2 ) ) . " $marks\n";
        for ( $left = 1 + below( 3 ); $left > 0; $left-- ) {
            $text .= $this->paragraph();
        }
        switch ( below( 6 ) ) {
            case 0:
                return $text . $this->table();
            case 1:
                return $text . $this->bullets();
            case 2:
                return "$text{{Note|{$this->some( 8 )}}}\n\n";
        }
        return $text;
    }

    public function text(): string {
        $text = "{{Infobox|name={$this->titles[$this->number]}|place={$this->word()}|since="
            . ( 1000 + below( 1000 ) ) . "}}\n" . $this->sentence() . "\n\n";
        $ends = "[[Category:" . ucfirst( $this->words[below( 20 )] ) . "]]\n";
        while ( strlen( $text ) + strlen( $ends ) < $this->length ) {
            $left = $this->length - strlen( $text ) - strlen( $ends );
            $text .= $left > 1500 ? $this->section( 2 + below( 2 ) ) : $this->sentence() . "\n\n";
        }
        return $text . $ends;
    }
}

const TEMPLATES = [
    'Infobox' => "<includeonly>{| class=\"infobox\"\n! colspan=\"2\" | {{{name}}}\n|-\n| place || "
        . "{{{place|}}}\n|-\n| since || {{{since|}}}\n|}</includeonly>",
    'Note' => "<includeonly><div class=\"note\">'''Note.''' {{{1}}}</div></includeonly>",
    'Cite' => "<includeonly><sup class=\"cite\" title=\"{{{1}}}\">[{{{2}}}]</sup></includeonly>",
];

/** A page of an XML dump. */
function page( int $id, string $title, int $namespace, string $text ): string {
    $text = htmlspecialchars( $text, ENT_XML1 );
    return "<page><title>$title</title><ns>$namespace</ns><id>$id</id><revision><id>$id</id>"
        . "<timestamp>2026-01-01T00:00:00Z</timestamp><contributor><username>Admin</username><id>1</id>"
        . "</contributor><model>wikitext</model><format>text/x-wiki</format>"
        . "<text xml:space=\"preserve\">$text</text></revision></page>\n";
}

function make( string $folder, int $pages, int $seed ): void {
    mt_srand( $seed );
    $words = words( 6000 );
    $titles = [];
    while ( count( $titles ) < $pages ) {
        $titles[ucfirst( $words[below( 6000 )] ) . ' ' . $words[below( 6000 )]] = true;
    }
    $titles = array_keys( $titles );
    $file = fopen( "$folder/pages.xml", 'w' ) ?: exit( 1 );
    fwrite( $file, '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" '
        . "xml:lang=\"en\">\n" );
    $id = 100;
    foreach ( TEMPLATES as $name => $text ) {
        fwrite( $file, page( $id++, "Template:$name", 10, $text ) );
    }
    foreach ( lengths( $pages ) as $number => $length ) {
        $page = new Page( $words, $titles, $number, $length );
        fwrite( $file, page( $id++, $titles[$number], 0, $page->text() ) );
    }
    fwrite( $file, "</mediawiki>\n" );
    fclose( $file ) || exit( 1 );
}

/** Writes the lists of the pages of a dump that are articles and no redirects. */
function urls( string $dump, string $folder ): void {
    $reader = new XMLReader();
    $reader->open( $dump, null, LIBXML_PARSEHUGE ) || exit( 1 );
    $lists = [];
    foreach ( [ 'pages', 'small', 'large' ] as $name ) {
        $lists[$name] = fopen( "$folder/$name.txt", 'w' ) ?: exit( 1 );
    }
    $count = 0;
    while ( $reader->read() ) {
        if ( $reader->nodeType !== XMLReader::ELEMENT || $reader->name !== 'page' ) {
            continue;
        }
        $page = simplexml_load_string( $reader->readOuterXml(), null, LIBXML_PARSEHUGE ) ?: exit( 1 );
        if ( (string)$page->ns !== '0' || isset( $page->redirect ) ) {
            continue;
        }
        $path = '/wiki/' . str_replace( '%2F', '/', rawurlencode( strtr( $page->title, ' ', '_' ) ) ) . "\n";
        $length = strlen( $page->revision->text );
        fwrite( $lists['pages'], $path );
        $length < SMALL && fwrite( $lists['small'], $path );
        $length >= LARGE && fwrite( $lists['large'], $path );
        $count++;
    }
    $count || exit( "$dump has no page\n" );
}

switch ( $argv[1] ?? '' ) {
    case 'make':
        make( $argv[2], (int)( $argv[3] ?? 1000 ), (int)( $argv[4] ?? 1 ) );
        urls( "$argv[2]/pages.xml", $argv[2] );
        break;
    case 'urls':
        urls( $argv[2], $argv[3] );
        break;
    default:
        fwrite( STDERR, "usage: php pages.php make FOLDER [PAGES [SEED]] | urls FILE.xml FOLDER\n" );
        exit( 2 );
}
